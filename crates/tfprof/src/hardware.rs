//! Peak rates of devices: FLOP/s by precision, and bytes per second. Figures are given by users, recorded in
//! profiles, published by vendors (`hardware/devices.toml`), or measured by `tfprof peak`.

pub mod measure;

use crate::error::{Error, Location};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use tfprof_proto::stream::Spot;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// The type of the numbers that a product of matrices takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Precision {
    F64,
    F32,
    Tf32,
    F16,
    Bf16,
    F8,
    I8,
}

impl Precision {
    pub const COUNT: usize = 7;

    const WORDS: [(&'static str, Precision); Precision::COUNT] = [
        ("f64", Precision::F64),
        ("f32", Precision::F32),
        ("tf32", Precision::Tf32),
        ("f16", Precision::F16),
        ("bf16", Precision::Bf16),
        ("f8", Precision::F8),
        ("i8", Precision::I8),
    ];

    pub fn word(self) -> &'static str {
        Precision::WORDS[self as usize].0
    }

    pub fn words() -> Vec<&'static str> {
        Precision::WORDS.iter().map(|(word, _)| *word).collect()
    }

    /// The precision that a word of ours or a type of a framework stands for.
    pub fn of(name: &str) -> Option<Precision> {
        let name =
            name.strip_prefix("c10::").or_else(|| name.strip_prefix("at::")).unwrap_or(name).to_ascii_lowercase();
        if let Some((_, precision)) = Precision::WORDS.iter().find(|(word, _)| *word == name) {
            return Some(*precision);
        }
        match name.as_str() {
            "double" | "float64" | "fp64" => Some(Precision::F64),
            "float" | "float32" | "fp32" => Some(Precision::F32),
            "half" | "float16" | "fp16" => Some(Precision::F16),
            "bfloat16" => Some(Precision::Bf16),
            "int8" | "uint8" | "u8" | "s8" | "signed char" | "unsigned char" => Some(Precision::I8),
            name if name.starts_with("float8") || name.starts_with("fp8") || name.starts_with("f8e") => {
                Some(Precision::F8)
            }
            _ => None,
        }
    }

    /// The bytes of one number.
    pub fn bytes(self) -> i64 {
        match self {
            Precision::F64 => 8,
            Precision::F32 | Precision::Tf32 => 4,
            Precision::F16 | Precision::Bf16 => 2,
            Precision::F8 | Precision::I8 => 1,
        }
    }
}

/// The peak rates of a device; 0 where unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Ceiling {
    flops: [f64; Precision::COUNT],
    bandwidth: f64,
}

impl Ceiling {
    /// FLOP/s in a precision; if it is unknown, in that of most training.
    pub fn flops(&self, precision: Option<Precision>) -> Option<f64> {
        let usual = [Precision::Bf16, Precision::F16, Precision::F32, Precision::F64, Precision::F8, Precision::I8];
        let order = precision.into_iter().chain(usual);
        order.map(|precision| self.flops[precision as usize]).find(|flops| *flops > 0.0)
    }

    /// FLOP/s of one precision, if they are known.
    pub fn own_flops(&self, precision: Precision) -> Option<f64> {
        Some(self.flops[precision as usize]).filter(|flops| *flops > 0.0)
    }

    /// Bytes a second.
    pub fn bandwidth(&self) -> Option<f64> {
        Some(self.bandwidth).filter(|bandwidth| *bandwidth > 0.0)
    }

    pub fn is_known(&self) -> bool {
        self.flops(None).is_some() || self.bandwidth().is_some()
    }

    pub fn set_flops(&mut self, precision: Option<Precision>, flops: f64) {
        match precision {
            Some(precision) => self.flops[precision as usize] = flops,
            None => self.flops = [flops; Precision::COUNT],
        }
    }

    pub fn set_bandwidth(&mut self, bandwidth: f64) {
        self.bandwidth = bandwidth;
    }

    /// Fills in unknown rates from another.
    pub fn fill_from(&mut self, other: &Ceiling) {
        if self.flops(None).is_none() {
            self.flops = other.flops;
        }
        if self.bandwidth().is_none() {
            self.bandwidth = other.bandwidth;
        }
    }

    /// The known figures, each with its precisions: `f16/bf16`, or nothing if all precisions have the same.
    pub fn by_precision(&self) -> Vec<(String, f64)> {
        let mut known: Vec<(String, f64)> = Vec::new();
        for (word, precision) in &Precision::WORDS {
            let flops = self.flops[*precision as usize];
            match known.iter_mut().find(|(_, other)| other.to_bits() == flops.to_bits()) {
                Some((words, _)) => *words = format!("{words}/{word}"),
                None => known.push(((*word).to_owned(), flops)),
            }
        }
        if let [(words, _)] = &mut known[..] {
            words.clear();
        }
        known.retain(|(_, flops)| *flops > 0.0);
        known
    }

    /// Adds `312T`, or `f32=19.5T,bf16=312T`.
    pub fn parse_flops(&mut self, text: &str) -> Result<(), String> {
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let (precision, rate) = match part.split_once('=') {
                Some((word, rate)) => (Some(of_word(word.trim())?), rate),
                None => (None, part),
            };
            self.set_flops(precision, parse_rate(rate, "312T or bf16=312T,f32=19.5T")?);
        }
        Ok(())
    }

    /// Sets `2.04T` or `900GB/s`.
    pub fn parse_bandwidth(&mut self, text: &str) -> Result<(), String> {
        self.bandwidth = parse_rate(text, "900G or 2.04TB/s")?;
        Ok(())
    }
}

/// The precision of a word.
pub fn of_word(word: &str) -> Result<Precision, String> {
    Precision::of(word).ok_or_else(|| crate::words::unknown("precision", word, &Precision::words()))
}

/// `918 TFLOP/s, 1638 GB/s`
impl fmt::Display for Ceiling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let flops = self.by_precision().into_iter().map(|(word, flops)| {
            let space = if word.is_empty() { "" } else { " " };
            format!("{}{space}{word}", rate(flops, "FLOP/s"))
        });
        let bandwidth = self.bandwidth().map(|bandwidth| rate(bandwidth, "B/s"));
        let texts: Vec<String> = flops.chain(bandwidth).collect();
        f.write_str(&if texts.is_empty() { "nothing".to_owned() } else { texts.join(", ") })
    }
}

/// A rate with four digits, such as `1.638 TB/s`.
pub fn rate(x: f64, unit: &str) -> String {
    let (divisor, letter) = match x {
        1e15.. => (1e15, "P"),
        1e12.. => (1e12, "T"),
        1e9.. => (1e9, "G"),
        1e6.. => (1e6, "M"),
        _ => (1.0, ""),
    };
    let shown = x / divisor;
    let decimals = if shown >= 1000.0 {
        0
    } else if shown >= 100.0 {
        1
    } else {
        2
    };
    let text = format!("{shown:.decimals$}");
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("{text} {letter}{unit}")
}

/// `312T`, `312 TFLOP/s`, `9e11`, `900GB/s`.
fn parse_rate(text: &str, example: &str) -> Result<f64, String> {
    let wrong = || format!("expected a rate a second, such as {example}, found `{text}`");
    let lower = text.trim().to_ascii_lowercase();
    let bare =
        ["flop/s", "flops", "b/s", "op/s", "ops"].iter().find_map(|unit| lower.strip_suffix(unit)).unwrap_or(&lower);
    let bare = bare.trim_end();
    let (digits, factor) = match bare.as_bytes().last() {
        Some(b'k') => (&bare[..bare.len() - 1], 1e3),
        Some(b'm') => (&bare[..bare.len() - 1], 1e6),
        Some(b'g') => (&bare[..bare.len() - 1], 1e9),
        Some(b't') => (&bare[..bare.len() - 1], 1e12),
        Some(b'p') => (&bare[..bare.len() - 1], 1e15),
        _ => (bare, 1.0),
    };
    let number: f64 = digits.trim().parse().map_err(|_| wrong())?;
    if number.is_finite() && number > 0.0 { Ok(number * factor) } else { Err(wrong()) }
}

/// A device of a table.
#[derive(Clone, Debug)]
pub struct Device {
    pub name: String,
    /// Parts of the names under which profiles know it.
    matches: Vec<String>,
    /// A name must be equal, not only contain one.
    exact: bool,
    pub ceiling: Ceiling,
    pub source: String,
}

impl Device {
    fn fits(&self, name: &str) -> bool {
        let name = name.to_ascii_lowercase();
        // Most devices are known by their cores alone, `cc9.4:304` of `cc9.4:304@2100`.
        let cores = name.split_once('@').map_or(name.as_str(), |(cores, _)| cores);
        let fits = |known: &String| {
            let known = known.to_ascii_lowercase();
            let is_capability = known.starts_with("cc") && (known == name || known == cores);
            is_capability || if self.exact { known == name } else { !known.starts_with("cc") && name.contains(&known) }
        };
        self.matches.iter().any(fits)
    }
}

/// The devices that tfprof knows.
static BUILT_IN: LazyLock<Vec<Device>> =
    LazyLock::new(|| parse("devices.toml", include_str!("hardware/devices.toml")).unwrap_or_default());

/// The built-in devices, and those of a file of the user, which come first.
#[derive(Clone, Debug, Default)]
pub struct Devices {
    own: Vec<Device>,
}

impl Devices {
    /// Reads the user's file: `path`, or if that is empty, [`Devices::usual_file`], if it exists.
    pub fn load(path: &str) -> Result<Devices, Error> {
        let usual = Devices::usual_file().filter(|file| path.is_empty() && file.exists());
        let file = if path.is_empty() { usual } else { Some(PathBuf::from(path)) };
        let own = file.map(|file| read(&file)).transpose()?.unwrap_or_default();
        Ok(Devices { own })
    }

    /// `~/.config/tfprof/devices.toml`, where `tfprof peak` saves.
    pub fn usual_file() -> Option<PathBuf> {
        let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let config = set("XDG_CONFIG_HOME").or_else(|| Some(set("HOME")?.join(".config")))?;
        Some(config.join("tfprof").join("devices.toml"))
    }

    fn all(&self) -> impl Iterator<Item = &Device> {
        self.own.iter().chain(BUILT_IN.iter())
    }

    /// The device that a profile calls by this name.
    pub fn of_profile(&self, name: &str) -> Option<&Device> {
        self.all().find(|device| device.fits(name))
    }

    /// The device that a user calls by this name: that of the table with all its words, or a CPU as in
    /// `cpu:avx512:8x2.5GHz`.
    pub fn named(&self, name: &str) -> Result<Device, String> {
        if let Some(spec) = name.strip_prefix("cpu:") {
            return processor(name, spec);
        }
        let squeezed = |text: &str| text.to_ascii_lowercase().replace([' ', '-', '_'], "");
        let wanted = squeezed(name);
        let named =
            |device: &&Device| squeezed(&device.name) == wanted || device.matches.iter().any(|m| squeezed(m) == wanted);
        let contains = |device: &&Device| !wanted.is_empty() && squeezed(&device.name).contains(&wanted);
        let found = self.all().find(named).or_else(|| self.all().find(contains));
        found.cloned().ok_or_else(|| {
            let names: Vec<&str> = self.all().map(|device| device.name.as_str()).collect();
            crate::words::unknown("device", name, &names)
        })
    }

    /// The measurement of this machine's CPU, if there is one.
    pub fn measured(&self) -> Option<&Device> {
        self.own.iter().find(|device| device.matches.iter().any(|name| name == MEASURED))
    }
}

/// The `match` of what `tfprof peak` measures.
pub const MEASURED: &str = "this machine's CPU";

/// `avx2:16x3.0GHz`: cores and their clock by FLOPs a cycle; two units for multiply-adds of this width.
fn processor(name: &str, spec: &str) -> Result<Device, String> {
    let wrong =
        || format!("expected a CPU such as cpu:avx2:16x3.0GHz (sse, neon, avx, avx2 or avx512), found `{name}`");
    let (set, rest) = spec.split_once(':').ok_or_else(wrong)?;
    // FLOPs of float32 in a cycle: lanes, times two units, times two for a multiply-add where there is one.
    let per_cycle = match set {
        "sse" => 8.0,
        "neon" | "avx" => 16.0,
        "avx2" => 32.0,
        "avx512" => 64.0,
        _ => return Err(wrong()),
    };
    let (cores, clock) = rest.split_once('x').ok_or_else(wrong)?;
    let cores: f64 = cores.parse::<u32>().map_err(|_| wrong())?.into();
    let clock: f64 = clock.trim_end_matches("GHz").parse().map_err(|_| wrong())?;
    let f32 = cores * clock * 1e9 * per_cycle;
    if !(f32.is_finite() && f32 > 0.0) {
        return Err(wrong());
    }
    let mut ceiling = Ceiling::default();
    ceiling.set_flops(Some(Precision::F32), f32);
    ceiling.set_flops(Some(Precision::F64), f32 / 2.0);
    let source = format!("{per_cycle} FLOPs of float32 a cycle and core: two units for multiply-adds");
    Ok(Device { name: name.to_owned(), matches: Vec::new(), exact: true, ceiling, source })
}

fn read(file: &Path) -> Result<Vec<Device>, Error> {
    let name = file.display().to_string();
    let text = std::fs::read_to_string(file).map_err(|source| Error::Io {
        file: name.clone(),
        action: "cannot read",
        source,
    })?;
    parse(&name, &text)
}

/// Reads a table of devices.
fn parse(file: &str, text: &str) -> Result<Vec<Device>, Error> {
    let error = |at: usize, message: String| {
        let before = text.get(..at).unwrap_or(text);
        let line = before.matches('\n').count() as u64 + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() as u64 + 1;
        Error::Input { location: Location { file: file.to_owned(), spot: Some(Spot::Line { line, column }) }, message }
    };
    let table = DeTable::parse(text)
        .map_err(|wrong| error(wrong.span().map_or(0, |span| span.start), wrong.message().to_owned()))?;
    let mut devices = Vec::new();
    for (key, value) in table.get_ref() {
        let DeValue::Array(list) = value.get_ref() else {
            return Err(error(key.span().start, format!("expected [[device]], found `{}`", key.get_ref())));
        };
        for item in list {
            let DeValue::Table(fields) = item.get_ref() else {
                return Err(error(item.span().start, "expected [[device]] with name, match and figures".to_owned()));
            };
            devices.push(device(fields).map_err(|(at, why)| error(at, why))?);
        }
    }
    Ok(devices)
}

fn device(fields: &DeTable<'_>) -> Result<Device, (usize, String)> {
    let mut device = Device {
        name: String::new(),
        matches: Vec::new(),
        exact: false,
        ceiling: Ceiling::default(),
        source: String::new(),
    };
    for (key, value) in fields {
        let expected = |what: &str| (value.span().start, format!("expected {what} for `{}`", key.get_ref()));
        match (key.get_ref().as_ref(), value.get_ref()) {
            ("name", DeValue::String(text)) => device.name = text.to_string(),
            ("source", DeValue::String(text)) => device.source = text.to_string(),
            ("exact", DeValue::Boolean(exact)) => device.exact = *exact,
            ("match", DeValue::Array(list)) => {
                for item in list {
                    let DeValue::String(text) = item.get_ref() else { return Err(expected("a list of names")) };
                    device.matches.push(text.to_string());
                }
            }
            ("bandwidth", _) => device.ceiling.set_bandwidth(number(value).ok_or_else(|| expected("bytes a second"))?),
            (word, _) => {
                let precision = of_word(word).map_err(|_| {
                    let known = "name, match, exact, source, bandwidth, f64, f32, tf32, f16, bf16, f8 and i8";
                    (key.span().start, format!("unknown key `{word}`; a device has {known}"))
                })?;
                device.ceiling.set_flops(Some(precision), number(value).ok_or_else(|| expected("FLOP/s"))?);
            }
        }
    }
    Ok(device)
}

/// A positive number.
fn number(value: &Spanned<DeValue<'_>>) -> Option<f64> {
    let text = match value.get_ref() {
        DeValue::Integer(n) => n.as_str().to_owned(),
        DeValue::Float(x) => x.as_str().to_owned(),
        _ => return None,
    };
    text.replace('_', "").parse().ok().filter(|x: &f64| x.is_finite() && *x > 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_in_table_is_whole() {
        let devices = parse("devices.toml", include_str!("hardware/devices.toml")).expect("a table");
        assert!(devices.len() > 30);
        for device in &devices {
            assert!(!device.name.is_empty() && !device.source.is_empty() && !device.matches.is_empty(), "{device:?}");
            assert!(device.ceiling.flops(None).is_some(), "{}", device.name);
        }
    }

    #[test]
    fn names_of_profiles_find_their_device() {
        let devices = Devices::default();
        for (name, found) in [
            ("NVIDIA H100 80GB HBM3", "NVIDIA H100 SXM"),
            ("NVIDIA A100-SXM4-80GB", "NVIDIA A100 80GB SXM"),
            ("NVIDIA A100-PG509-200", "NVIDIA A100 (memory unknown)"),
            ("AMD Instinct MI300X VF", "AMD Instinct MI300X"),
            ("TPU v6 Lite", "TPU v6e"),
            ("cc7.0:80", "NVIDIA V100 SXM2"),
            ("cc9.4:304@2100", "AMD Instinct MI300X"),
            ("cc9.5:256@2400", "AMD Instinct MI355X"),
            ("NVIDIA A10", "NVIDIA A10"),
        ] {
            assert_eq!(devices.of_profile(name).map(|device| device.name.as_str()), Some(found), "{name}");
        }
        assert!(devices.of_profile("NVIDIA A10G").is_none());
        assert_eq!(devices.named("h100").expect("known").name, "NVIDIA H100 SXM");
        assert!(devices.named("h101").unwrap_err().contains("unknown device `h101`"));
    }

    #[test]
    fn rates_take_many_spellings() {
        for (text, value) in [("312T", 312e12), ("312 TFLOP/s", 312e12), ("9e11", 9e11), ("900GB/s", 900e9)] {
            assert_eq!(parse_rate(text, "x"), Ok(value), "{text}");
        }
        for text in ["", "T", "-1T", "nan", "1e999", "12 apples"] {
            assert!(parse_rate(text, "312T").is_err(), "{text}");
        }
        let mut ceiling = Ceiling::default();
        ceiling.parse_flops("f32=19.5T,bf16=312T").expect("rates");
        assert_eq!(ceiling.flops(Some(Precision::F32)), Some(19.5e12));
        assert_eq!((ceiling.flops(None), ceiling.flops(Some(Precision::I8))), (Some(312e12), Some(312e12)));
        assert_eq!(ceiling.to_string(), "19.5 TFLOP/s f32, 312 TFLOP/s bf16");
    }

    #[test]
    fn a_processor_is_cores_by_clock_by_width() {
        let device = Devices::default().named("cpu:avx2:16x3.0GHz").expect("a CPU");
        assert_eq!(device.ceiling.flops(Some(Precision::F32)), Some(16.0 * 3e9 * 32.0));
        assert!(Devices::default().named("cpu:mmx:1x1").is_err());
    }

    #[test]
    fn a_wrong_table_is_named_with_its_place() {
        let error = parse("my.toml", "[[device]]\nname = \"x\"\nf31 = 3\n").unwrap_err().to_string();
        assert!(error.contains("my.toml") && error.contains('3') && error.contains("unknown key `f31`"), "{error}");
        assert!(parse("my.toml", "[[device]]\nf32 = -1\n").unwrap_err().to_string().contains("FLOP/s"));
    }
}
