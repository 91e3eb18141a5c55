//! The frame of a JPEG and its components, with the coefficients of their blocks.

use super::{Purpose, Stop, broken};

/// The level of a coefficient that no scan has mentioned.
pub(super) const UNKNOWN: u8 = u8::MAX;

/// The image, as its header describes it.
pub(super) struct Frame {
    pub width: usize,
    pub height: usize,
    pub progressive: bool,
    /// The side of a block in pixels, after scaling: 1, 2, 4 or 8.
    pub side: usize,
    /// Blocks of the finest component in a unit, from left to right and top to bottom.
    pub across: usize,
    pub down: usize,
    pub components: Vec<Component>,
}

/// One of the planes of an image: brightness, or a colour.
pub(super) struct Component {
    pub id: u8,
    pub across: usize,
    pub down: usize,
    pub quantiser: usize,
    /// Blocks in whole units.
    pub columns: usize,
    pub rows: usize,
    /// Blocks that show part of the image.
    pub used_columns: usize,
    pub used_rows: usize,
    /// Whether its pixels are needed.
    pub wanted: bool,
    /// How many coefficients of a block are kept.
    pub size: usize,
    /// The lowest frequencies of each block.
    pub coefficients: Vec<i16>,
    /// For a progressive file, which coefficients of each block are not zero. In zigzag order.
    pub set: Vec<u64>,
    /// How many bits of each coefficient are still missing; [`UNKNOWN`] if no scan has had any.
    pub levels: [u8; 64],
}

impl Frame {
    /// The frame of an image of this width and height, from the headers of its components.
    pub fn new(
        purpose: Purpose,
        (width, height): (usize, usize),
        progressive: bool,
        side: usize,
        parts: &[[u8; 3]],
    ) -> Result<Self, Stop> {
        let factors = |sampling: u8| (usize::from(sampling >> 4), usize::from(sampling & 15));
        let sizes = parts.iter().map(|part| factors(part[1]));
        if !sizes.clone().all(|(across, down)| (1..=4).contains(&across) && (1..=4).contains(&down))
        {
            return Err(broken("impossible sampling"));
        }
        let across = sizes.clone().map(|(across, _)| across).max().unwrap_or(1);
        let down = sizes.map(|(_, down)| down).max().unwrap_or(1);
        if matches!(purpose, Purpose::Pixels { .. }) && factors(parts[0][1]) != (across, down) {
            return Err(Stop::Other);
        }
        let mut components = Vec::new();
        for (position, &[id, sampling, quantiser]) in parts.iter().enumerate() {
            if quantiser > 3 {
                return Err(broken("an unknown table of quantisers"));
            }
            let (own_across, own_down) = factors(sampling);
            let columns = width.div_ceil(8 * across) * own_across;
            let rows = height.div_ceil(8 * down) * own_down;
            let wanted = match purpose {
                Purpose::Pixels { colour } => position == 0 || colour,
                Purpose::Separate => true,
                Purpose::Check => false,
            };
            let size = if wanted { side * side } else { 0 };
            components.push(Component {
                id,
                across: own_across,
                down: own_down,
                quantiser: quantiser.into(),
                columns,
                rows,
                used_columns: (width * own_across).div_ceil(8 * across),
                used_rows: (height * own_down).div_ceil(8 * down),
                wanted,
                size,
                coefficients: vec![0; columns * rows * size],
                set: vec![0; if progressive { columns * rows } else { 0 }],
                levels: [UNKNOWN; 64],
            });
        }
        Ok(Self { width, height, progressive, side, across, down, components })
    }
}

impl Component {
    /// The coefficients of a block that are kept; none if its pixels are not needed.
    #[inline]
    pub fn kept(&mut self, block: usize) -> &mut [i16] {
        &mut self.coefficients[block * self.size..(block + 1) * self.size]
    }

    /// Notes which bits of which coefficients a progressive scan holds. Each bit comes once, the upper
    /// ones first: if not, a scan is missing.
    pub fn advance(&mut self, first: u8, last: u8, bits: u8) -> Result<(), Stop> {
        let (high, low) = (bits >> 4, bits & 15);
        for level in &mut self.levels[usize::from(first)..=usize::from(last)] {
            let follows = match *level {
                UNKNOWN => high == 0,
                level => high == level && low + 1 == level,
            };
            if !follows {
                return Err(broken("a scan is missing"));
            }
            *level = low;
        }
        Ok(())
    }
}
