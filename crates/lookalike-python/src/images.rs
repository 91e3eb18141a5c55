//! Fingerprints of images.

use std::{fs, path::PathBuf};

use lookalike::{
    Fingerprint, Width,
    extract::image::{Decoder, Image, Pixels},
    recipe::{ImagePreset, ImageRecipe},
};
use pyo3::{
    exceptions::{PyTypeError, PyValueError},
    prelude::*,
    pybacked::PyBackedBytes,
    types::{PyByteArray, PyBytes},
};
use rayon::prelude::*;

use crate::{
    error::OrRaise,
    number::Threads,
    prints::{for_words, to_bytes},
    work::{self, on_pool},
};

/// How many images are processed between two checks for signals.
const ROUND: usize = 64;

/// The source of an image.
enum Source {
    File(PathBuf),
    /// The content of a file.
    Bytes(PyBackedBytes),
    Pixels(Image),
}

/// Fingerprints as words; a byte for each that is 1 if it is missing; and the number and error of each
/// image that could not be read.
type Many<'py> = (Bound<'py, PyByteArray>, Bound<'py, PyByteArray>, Vec<(usize, String)>);

/// The fingerprints of images: paths, bytes of files, or pixels as (width, height, channels, bytes).
#[pyfunction]
#[pyo3(signature = (sources, recipe, threads=None))]
pub fn images<'py>(
    py: Python<'py>,
    sources: &Bound<'py, PyAny>,
    recipe: &str,
    threads: Option<Threads>,
) -> PyResult<Many<'py>> {
    let recipe = &ImagePreset::named(recipe).or_raise()?.recipe;
    let pool = work::pool(threads)?;
    let mut made: Vec<Result<Option<Fingerprint<4>>, String>> = Vec::new();
    let mut sources = sources.try_iter()?;
    loop {
        let round = sources.by_ref().take(ROUND).map(|source| Source::of(&source?));
        let round: Vec<Source> = round.collect::<PyResult<_>>()?;
        if round.is_empty() {
            break;
        }
        let print = |source: &Source| source.print(recipe);
        made.extend(on_pool(py, &pool, || round.par_iter().map(print).collect::<Vec<_>>()));
        py.check_signals()?;
    }
    let empty: Vec<u8> = made.iter().map(|print| u8::from(!matches!(print, Ok(Some(_))))).collect();
    let failed = made.iter().enumerate().filter_map(|(at, print)| Some((at, print.clone().err()?)));
    let failed: Vec<(usize, String)> = failed.collect();
    let words = for_words!(recipe.width.words(), W => {
        let narrow = |print: Fingerprint<4>| std::array::from_fn::<u64, W, _>(|word| print.0[word]);
        let prints = made.into_iter().map(|print| print.ok().flatten().unwrap_or_default());
        to_bytes(py, &prints.map(narrow).collect::<Vec<_>>())?
    });
    Ok((words, to_bytes(py, &empty)?, failed))
}

/// A preset: name, bits, the distances of copy, near and similar, and a description.
type Listed = (&'static str, u32, (u32, u32, u32), &'static str);

/// Every preset for images.
#[pyfunction]
pub fn image_presets() -> Vec<Listed> {
    let listed = ImagePreset::ALL.iter().map(|preset| {
        let ImageRecipe { width, .. } = preset.recipe;
        let [copy, near, similar] = preset.levels.map(|radius| radius.bits());
        (preset.recipe.name(), Width::bits(width), (copy, near, similar), preset.description)
    });
    listed.collect()
}

impl Source {
    fn of(source: &Bound<'_, PyAny>) -> PyResult<Self> {
        if source.is_instance_of::<PyBytes>() || source.is_instance_of::<PyByteArray>() {
            return Ok(Self::Bytes(source.extract()?));
        }
        if let Ok((width, height, channels, bytes)) =
            source.extract::<(usize, usize, usize, PyBackedBytes)>()
        {
            let pixels = match channels {
                1 => Pixels::gray(width, height, bytes.to_vec()),
                _ => Pixels::rgb(width, height, bytes.to_vec()),
            };
            let wrong =
                || PyValueError::new_err(format!("{width} x {height}: wrong number of pixels"));
            return pixels.ok_or_else(wrong).map(|pixels| Self::Pixels(Image::of_pixels(pixels)));
        }
        let name = source.get_type();
        source.extract().map(Self::File).map_err(|_| {
            PyTypeError::new_err(format!(
                "an image must be a path, bytes or a PIL image, not {name}"
            ))
        })
    }

    fn print(&self, recipe: &ImageRecipe) -> Result<Option<Fingerprint<4>>, String> {
        let decoder = Decoder { colour: recipe.method.needs_colour(), ..Decoder::default() };
        let decode = |bytes: &[u8]| decoder.decode(bytes).map_err(|error| error.to_string());
        let of = |image: &Image| recipe.prints(image, false).map(|prints| prints.upright);
        match self {
            Self::Pixels(image) => Ok(of(image)),
            Self::Bytes(bytes) => Ok(of(&decode(bytes)?)),
            Self::File(path) => {
                let named = |what: String| format!("{}: {what}", path.display());
                let bytes = fs::read(path).map_err(|error| named(error.to_string()))?;
                Ok(of(&decode(&bytes).map_err(named)?))
            }
        }
    }
}
