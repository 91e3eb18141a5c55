//! Reads the blocks of a scan.
//!
//! Every bit of every scan is read, even those of coefficients that are not kept: a file whose bits end
//! too early or make no sense is not an intact image.

use super::{
    Stop,
    bits::{Bits, Codes, Fault, LOOKED_UP},
    broken, cut_off,
    frame::{Component, Frame},
    inverse::ZIGZAG,
};

/// A scan's share of a component.
#[derive(Clone, Copy)]
pub(super) struct Part {
    pub component: usize,
    pub constant: usize,
    pub others: usize,
}

/// What a scan holds of each block.
#[derive(Clone, Copy)]
pub(super) enum Content {
    /// All coefficients, in order.
    Sequential,
    /// The upper bits of the constant; this many follow.
    ConstantFirst(u8),
    /// One more bit of the constant; this many follow.
    ConstantNext(u8),
    /// The upper bits of the coefficients from one to another, both included.
    OthersFirst(u32, u32),
    /// One more bit of each.
    OthersNext(u32, u32),
}

/// A scan, ready to be read.
pub(super) struct Scan<'a> {
    pub codes: &'a [[Option<Box<Codes>>; 4]; 2],
    pub parts: &'a [Part],
    pub restart: usize,
}

/// The codes of a scan's share of a component.
struct PartCodes<'a> {
    component: usize,
    /// Its blocks in a unit, from left to right and top to bottom.
    across: usize,
    down: usize,
    constants: &'a Codes,
    others: &'a Codes,
    /// Present where most coefficients are skipped.
    skips: Option<Skips>,
}

impl Scan<'_> {
    pub fn run(
        &self,
        frame: &mut Frame,
        bits: &mut Bits<'_>,
        content: Content,
    ) -> Result<(), Stop> {
        match content {
            Content::Sequential => self.read(frame, bits, &mut Sequential),
            Content::ConstantFirst(low) => self.read(frame, bits, &mut ConstantFirst(low)),
            Content::ConstantNext(low) => self.read(frame, bits, &mut ConstantNext(low)),
            Content::OthersFirst(from, to) => {
                self.read(frame, bits, &mut OthersFirst { from, to, ended: 0 })
            }
            Content::OthersNext(from, to) => {
                self.read(frame, bits, &mut OthersNext { from, to, ended: 0 })
            }
        }
    }

    fn read(
        &self,
        frame: &mut Frame,
        bits: &mut Bits<'_>,
        how: &mut impl ReadBlock,
    ) -> Result<(), Stop> {
        let none = Codes::none();
        let parts = self.part_codes(frame, &none);
        let (columns, rows) = match self.parts {
            [part] => {
                let component = &frame.components[part.component];
                (component.used_columns, component.used_rows)
            }
            _ => (frame.width.div_ceil(8 * frame.across), frame.height.div_ceil(8 * frame.down)),
        };
        let mut before = [0_i32; 4];
        let mut until_restart = self.restart;
        for top in 0..rows {
            for left in 0..columns {
                if self.restart > 0 {
                    if until_restart == 0 {
                        bits.restart()?;
                        how.restart();
                        before = [0; 4];
                        until_restart = self.restart;
                    }
                    until_restart -= 1;
                }
                for (part, before) in parts.iter().zip(&mut before) {
                    let component = &mut frame.components[part.component];
                    for row in top * part.down..(top + 1) * part.down {
                        for column in left * part.across..(left + 1) * part.across {
                            let block = row * component.columns + column;
                            how.read(bits, part, before, component, block)?;
                        }
                    }
                }
                if bits.is_over() {
                    return Err(if bits.at + 1 >= bits.bytes.len() {
                        cut_off()
                    } else {
                        broken("a scan ends too early")
                    });
                }
            }
        }
        Ok(())
    }

    /// Tables that the file lacks have no codes, so reading one is an error.
    fn part_codes<'a>(&'a self, frame: &Frame, none: &'a Codes) -> Vec<PartCodes<'a>> {
        let alone = self.parts.len() == 1;
        let codes = |part: &Part| {
            let component = &frame.components[part.component];
            let (across, down) = if alone { (1, 1) } else { (component.across, component.down) };
            let others = self.codes[1][part.others].as_deref().unwrap_or(none);
            let passes = !frame.progressive && (frame.side == 1 || !component.wanted);
            let worth = passes && component.columns * component.rows >= Skips::BLOCKS;
            PartCodes {
                component: part.component,
                across,
                down,
                constants: self.codes[0][part.constant].as_deref().unwrap_or(none),
                others,
                skips: worth.then(|| Skips::of(others)),
            }
        };
        self.parts.iter().map(codes).collect()
    }
}

/// How a block is read from the bits of a scan.
trait ReadBlock {
    /// Reads a block of a component.
    fn read(
        &mut self,
        bits: &mut Bits<'_>,
        part: &PartCodes<'_>,
        before: &mut i32,
        component: &mut Component,
        block: usize,
    ) -> Result<(), Fault>;

    /// Forgets the state between blocks.
    fn restart(&mut self) {}
}

struct Sequential;

struct ConstantFirst(u8);

struct ConstantNext(u8);

/// In progressive files, one code can end many blocks; `ended` of them are left.
struct OthersFirst {
    from: u32,
    to: u32,
    ended: u32,
}

struct OthersNext {
    from: u32,
    to: u32,
    ended: u32,
}

impl ReadBlock for Sequential {
    #[inline]
    fn read(
        &mut self,
        bits: &mut Bits<'_>,
        part: &PartCodes<'_>,
        before: &mut i32,
        component: &mut Component,
        block: usize,
    ) -> Result<(), Fault> {
        let kept = component.kept(block);
        *before = before.wrapping_add(bits.difference(part.constants)?);
        if let Some(constant) = kept.first_mut() {
            *constant = *before as i16;
        }
        match (kept.len(), &part.skips) {
            (0 | 1, Some(skips)) => skips.pass(bits, part.others),
            (0 | 1, None) => pass_from(1, bits, part.others),
            (4, _) => read_others::<2>(bits, part.others, kept),
            (16, _) => read_others::<4>(bits, part.others, kept),
            _ => read_others::<8>(bits, part.others, kept),
        }
    }
}

/// Reads all coefficients but the constant, and keeps those of the lowest frequencies.
fn read_others<const SIDE: usize>(
    bits: &mut Bits<'_>,
    others: &Codes,
    kept: &mut [i16],
) -> Result<(), Fault> {
    let mut at = 1;
    while at < 64 {
        bits.fill();
        let symbol = others.symbol(bits)?;
        let (run, size) = (usize::from(symbol >> 4), u32::from(symbol & 15));
        if size == 0 {
            if run < 15 {
                break;
            }
            at += 16;
            continue;
        }
        at += run;
        let value = bits.signed(size);
        let place = usize::from(*ZIGZAG.get(at).ok_or(Fault::RunsOver)?);
        if place / 8 < SIDE && place % 8 < SIDE {
            kept[place / 8 * SIDE + place % 8] = value as i16;
        }
        at += 1;
    }
    Ok(())
}

/// Skips all coefficients from this one on.
fn pass_from(mut at: u32, bits: &mut Bits<'_>, others: &Codes) -> Result<(), Fault> {
    while at < 64 {
        bits.fill();
        let symbol = others.symbol(bits)?;
        let (run, size) = (symbol >> 4, symbol & 15);
        if size == 0 && run < 15 {
            break;
        }
        bits.drop(size.into());
        at += u32::from(run) + 1;
    }
    if at > 64 { Err(Fault::RunsOver) } else { Ok(()) }
}

/// Skips coefficients that are not needed: looks up several codes at once by the next bits.
struct Skips(Box<[Skip; 1 << Self::LOOKED_UP]>);

/// All codes that start in some bits, with the values after them.
#[derive(Clone, Copy, Default)]
struct Skip {
    /// The number of their bits; 0 if not even one code fits.
    bits: u8,
    /// The number of coefficients they stand for; with [`Skip::END`] if they end a block.
    coefficients: u8,
}

impl Skip {
    const END: u8 = 128;

    fn of(codes: &Codes, window: u64) -> Self {
        let mut skip = Self::default();
        while u32::from(skip.bits) < Skips::LOOKED_UP {
            // Bits beyond the window are unknown, so a code must end within it.
            let entry = codes.short[((window << skip.bits) >> (64 - LOOKED_UP)) as usize];
            let end = u32::from(skip.bits) + u32::from(entry >> 8);
            let (run, size) = (entry as u8 >> 4, entry as u8 & 15);
            if entry == 0 || end > Skips::LOOKED_UP || skip.coefficients + run + 1 > 64 {
                break;
            }
            skip.bits = end as u8 + size;
            if size == 0 && run < 15 {
                skip.coefficients |= Self::END;
                break;
            }
            skip.coefficients += run + 1;
        }
        skip
    }
}

impl Skips {
    const LOOKED_UP: u32 = 12;

    /// The table pays off for at least this many blocks.
    const BLOCKS: usize = 1 << 13;

    fn of(codes: &Codes) -> Self {
        let mut skips = Box::new([Skip::default(); 1 << Self::LOOKED_UP]);
        for (window, skip) in (0_u64..).zip(skips.iter_mut()) {
            *skip = Skip::of(codes, window << (64 - Self::LOOKED_UP));
        }
        Self(skips)
    }

    /// Skips all coefficients but the constant.
    #[inline]
    fn pass(&self, bits: &mut Bits<'_>, others: &Codes) -> Result<(), Fault> {
        let mut at = 1;
        while at < 64 {
            bits.fill();
            let Skip { bits: length, coefficients } = self.0[bits.peek(Self::LOOKED_UP) as usize];
            let after = at + u32::from(coefficients & !Skip::END);
            let ends = coefficients & Skip::END != 0;
            // The last coefficient ends a block, too; later codes do not belong to it.
            if length == 0 || after > 64 - u32::from(ends) {
                return pass_from(at, bits, others);
            }
            bits.drop(length.into());
            if ends {
                break;
            }
            at = after;
        }
        Ok(())
    }
}

impl ReadBlock for ConstantFirst {
    fn read(
        &mut self,
        bits: &mut Bits<'_>,
        part: &PartCodes<'_>,
        before: &mut i32,
        component: &mut Component,
        block: usize,
    ) -> Result<(), Fault> {
        *before = before.wrapping_add(bits.difference(part.constants)?);
        let kept = component.kept(block);
        kept.iter_mut().for_each(|constant| *constant = (*before << self.0) as i16);
        Ok(())
    }
}

impl ReadBlock for ConstantNext {
    fn read(
        &mut self,
        bits: &mut Bits<'_>,
        _: &PartCodes<'_>,
        _: &mut i32,
        component: &mut Component,
        block: usize,
    ) -> Result<(), Fault> {
        bits.fill();
        let bit = bits.take(1) as i16;
        component.kept(block).iter_mut().for_each(|constant| *constant |= bit << self.0);
        Ok(())
    }
}

impl ReadBlock for OthersFirst {
    fn read(
        &mut self,
        bits: &mut Bits<'_>,
        part: &PartCodes<'_>,
        _: &mut i32,
        component: &mut Component,
        block: usize,
    ) -> Result<(), Fault> {
        if self.ended > 0 {
            self.ended -= 1;
            return Ok(());
        }
        let mut at = self.from;
        while at <= self.to {
            bits.fill();
            let symbol = part.others.symbol(bits)?;
            let (run, size) = (u32::from(symbol >> 4), u32::from(symbol & 15));
            if size == 0 && run < 15 {
                self.ended = bits.blocks_ended(run) - 1;
                return Ok(());
            }
            at += run;
            if at > self.to {
                return Err(Fault::RunsOver);
            }
            if size > 0 {
                bits.drop(size);
                component.set[block] |= 1 << at;
            }
            at += 1;
        }
        Ok(())
    }

    fn restart(&mut self) {
        self.ended = 0;
    }
}

impl ReadBlock for OthersNext {
    /// T.81, G.1.2.3: each coefficient that is not zero has a bit wherever it is skipped.
    fn read(
        &mut self,
        bits: &mut Bits<'_>,
        part: &PartCodes<'_>,
        _: &mut i32,
        component: &mut Component,
        block: usize,
    ) -> Result<(), Fault> {
        let set = &mut component.set[block];
        let mut at = self.from;
        while self.ended == 0 && at <= self.to {
            bits.fill();
            let symbol = part.others.symbol(bits)?;
            let (mut run, size) = (u32::from(symbol >> 4), symbol & 15);
            match size {
                0 if run < 15 => {
                    self.ended = bits.blocks_ended(run);
                    break;
                }
                0 => {}
                1 => bits.drop(1),
                _ => return Err(Fault::Difference),
            }
            while at <= self.to {
                if *set >> at & 1 == 1 {
                    bits.fill();
                    bits.drop(1);
                } else if run == 0 {
                    break;
                } else {
                    run -= 1;
                }
                at += 1;
            }
            if at > self.to {
                // There is no room for the coefficient, or for the last of sixteen zeros.
                return Err(Fault::RunsOver);
            }
            *set |= u64::from(size) << at;
            at += 1;
        }
        if self.ended > 0 {
            self.ended -= 1;
            let rest = *set & (u64::MAX << at.min(63)) & (u64::MAX >> (63 - self.to));
            let rest = if at > self.to { 0 } else { rest };
            for _ in 0..rest.count_ones() {
                bits.fill();
                bits.drop(1);
            }
        }
        Ok(())
    }

    fn restart(&mut self) {
        self.ended = 0;
    }
}
