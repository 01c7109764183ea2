//! `tfprof peak`: measures what this machine's CPU can do, and saves it where questions about peaks look for it.

use super::{Exit, check_form, deliver};
use crate::flags::Request;
use crate::target;
use std::io::{self, Write};
use std::path::Path;
use tfprof::internal::hardware::measure::{Measurement, measure};
use tfprof::internal::hardware::{Devices, rate};
use tfprof::{Error, Output};

/// The saved measurement stands between these lines, so that the next one replaces it and nothing else.
const BEGIN: &str = "# begin: measured by tfprof peak\n";
const END: &str = "# end: measured by tfprof peak\n";

pub fn run(request: &Request, out: &mut dyn Write, err: &mut dyn Write) -> Result<Exit, Error> {
    check_form(&request.options.output, "peak", &[Output::TEXT, "json"])?;
    let processors = || std::thread::available_parallelism().map_or(1, usize::from);
    let measured = measure(request.flags.threads.unwrap_or_else(processors));
    let file = Devices::usual_file().filter(|_| !request.flags.no_save);
    if let Some(file) = &file {
        save(file, &measured.entry())?;
    }
    let file = file.map(|file| file.display().to_string());
    deliver(
        request,
        &[],
        out,
        err,
        &[
            (Output::TEXT, &|out| write_text(&measured, file.as_deref(), out)),
            ("json", &|out| write_json(&measured, file.as_deref(), out)),
        ],
    )?;
    Ok(Exit::Answered)
}

/// Writes the entry into the user's table, in place of the last one.
fn save(file: &Path, entry: &str) -> Result<(), Error> {
    let name = file.display().to_string();
    let failed = |source: io::Error| Error::Io { file: name.clone(), action: "cannot write", source };
    let before = match std::fs::read_to_string(file) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(failed(error)),
    };
    if let Some(directory) = file.parent() {
        std::fs::create_dir_all(directory).map_err(failed)?;
    }
    let text = replaced(&before, entry);
    target::to_file(&name, &[], |out| out.write_all(text.as_bytes()))
}

/// The table with the entry in place of the last measurement.
fn replaced(before: &str, entry: &str) -> String {
    let block = format!("{BEGIN}{entry}{END}");
    match (before.find(BEGIN), before.find(END)) {
        (Some(start), Some(end)) if start < end => {
            format!("{}{block}{}", &before[..start], &before[end + END.len()..])
        }
        _ if before.is_empty() => block,
        _ => format!("{}\n{block}", before.trim_end_matches('\n').to_owned() + "\n"),
    }
}

fn write_text(measured: &Measurement, file: Option<&str>, out: &mut dyn Write) -> io::Result<()> {
    let Measurement { threads, instructions, width, f32_flops, f64_flops, bandwidth, copy, triad, .. } = measured;
    writeln!(out, "float32           {}", rate(*f32_flops, "FLOP/s"))?;
    writeln!(out, "float64           {}", rate(*f64_flops, "FLOP/s"))?;
    let (copy, triad) = (rate(*copy, "B/s"), rate(*triad, "B/s"));
    writeln!(out, "memory            {} (copy {copy}, triad {triad})", rate(*bandwidth, "B/s"))?;
    let ridge = f32_flops / bandwidth;
    writeln!(out, "ridge             {ridge:.1} FLOPs of float32 per byte; below it, memory is the limit")?;
    writeln!(out, "threads           {threads}")?;
    writeln!(out, "instructions      {instructions}, {width} float32 in a register")?;
    match file {
        Some(file) => writeln!(out, "saved in          {file}"),
        None => Ok(()),
    }
}

fn write_json(measured: &Measurement, file: Option<&str>, out: &mut dyn Write) -> io::Result<()> {
    let Measurement { threads, instructions, width, f32_flops, f64_flops, bandwidth, copy, triad, .. } = measured;
    let mut saved = Vec::new();
    match file {
        Some(file) => tfprof::internal::json::write_string(file, &mut saved)?,
        None => saved.extend_from_slice(b"null"),
    }
    writeln!(
        out,
        "{{\"version\":1,\"command\":\"peak\",\"f32_flops_per_second\":{f32_flops:.0},\"f64_flops_per_second\":{f64_flops:.0},\
         \"bytes_per_second\":{bandwidth:.0},\"copy_bytes_per_second\":{copy:.0},\"triad_bytes_per_second\":{triad:.0},\
         \"threads\":{threads},\"instructions\":\"{instructions}\",\"width\":{width},\"saved_in\":{}}}",
        String::from_utf8_lossy(&saved)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_measurement_replaces_the_last_one_and_nothing_else() {
        let first = replaced("", "a\n");
        assert_eq!(first, format!("{BEGIN}a\n{END}"));
        let own = format!("# mine\n[[device]]\n\n{first}# more\n");
        assert_eq!(replaced(&own, "b\n"), own.replace("a\n", "b\n"));
        assert!(replaced("# mine", "b\n").starts_with("# mine\n\n# begin"));
    }
}
