//! `lookalike bench images`: measures how long each step takes for an image on one core.

use std::{hint::black_box, process::ExitCode, sync::Arc, time::Instant};

use anyhow::{Result, ensure};
use lookalike::{
    Kind,
    extract::image::{DecodeError, Decoder, Gray, LOCAL_SIDE, Part, fragments},
    kind::{Input, image::ImageKind},
    recipe::ImageRecipe,
};
use serde_json::json;

use crate::{
    args::{BenchImagesArgs, WorkArgs},
    config::Work,
    host::{Console, Host},
    kinds::{CompareOptions, usage_error},
    report::{counted, json_line},
    source::{Cache, FileReading, Files, Skipped},
};

pub fn run(args: &BenchImagesArgs, host: &Host) -> Result<ExitCode> {
    let console = Console::plain(host, false);
    let settings = CompareOptions::from(&args.recipe).settings()?;
    let kind = ImageKind::open(&settings).map_err(usage_error)?;
    let mut skipped = Skipped::unless(false);
    let (cache, memory) = (Cache::none().into(), Arc::default());
    let reading = FileReading { follow_links: false, cache, memory };
    let images = Files::open(&args.inputs, &reading, &mut skipped)?;
    let times = Work::new(WorkArgs { threads: Some(1), ..WorkArgs::default() }, host)?
        .on_threads(|| images.sampled(1.0, &mut skipped, &|bytes| Times::of(&kind, bytes)))?;
    skipped.lines().for_each(|line| console.message(&line));
    ensure!(!times.is_empty(), "no image could be decoded; name files or folders of images");
    let count = times.len();
    let mean = |step: fn(&Times) -> f64| 1e3 * times.iter().map(step).sum::<f64>() / count as f64;
    let steps = [
        ("decode", mean(|times| times.decode)),
        ("fingerprint", mean(|times| times.fingerprint)),
        ("whole", mean(|times| times.whole)),
        ("orientations", mean(|times| times.turned - times.fingerprint)),
        ("parts", mean(|times| times.parts)),
    ];
    console.print(&if args.json {
        let mut fields = vec![("images", json!(count))];
        fields.extend(steps.map(|(name, time)| (name, json!((time * 1e4).round() / 1e4))));
        json_line(&fields) + "\n"
    } else {
        let words = [
            "decode",
            "fingerprint the pixels",
            "both together, as in dedup",
            "extra for eight orientations",
            "extra for --match partial",
        ];
        let head = format!("{}, mean milliseconds on one core\n", counted(count as u64, "image"));
        let line = |((_, time), words): (&(_, f64), _)| format!("{time:>9.3} {words}\n");
        head + &steps.iter().zip(words).map(line).collect::<String>()
    })?;
    Ok(ExitCode::SUCCESS)
}

/// Each step runs this many times; the fastest counts.
const ROUNDS: usize = 3;

/// Seconds that one image takes.
struct Times {
    decode: f64,
    fingerprint: f64,
    turned: f64,
    parts: f64,
    whole: f64,
}

impl Times {
    fn of(kind: &ImageKind, bytes: &[u8]) -> Decoded<Self> {
        let recipe: &ImageRecipe = kind.image_recipe();
        let colour = recipe.method.needs_colour();
        let decoder = Decoder { colour, frames: true, ..Decoder::default() };
        let image = decoder.decode(bytes)?;
        let gray = || {
            let (width, height) = (image.pixels.width(), image.pixels.height());
            Gray::shrunk(&image.pixels, Part { x: 0, y: 0, width, height }, LOCAL_SIDE)
        };
        let file = || Input::File { bytes, extension: None };
        Ok(Self {
            decode: timed(|| decoder.decode(bytes)),
            fingerprint: timed(|| recipe.prints(&image, false)),
            turned: timed(|| recipe.prints(&image, true)),
            parts: timed(|| fragments(&gray())),
            whole: timed(|| kind.digester().digest(file())),
        })
    }
}

type Decoded<T> = Result<T, DecodeError>;

fn timed<T>(work: impl Fn() -> T) -> f64 {
    let once = |_| {
        let start = Instant::now();
        black_box(work());
        start.elapsed().as_secs_f64()
    };
    (0..ROUNDS).map(once).fold(f64::INFINITY, f64::min)
}
