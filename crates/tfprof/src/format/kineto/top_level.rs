//! Facts about the recording, beside its events. Keys that are not listed here are never read: some files
//! carry the environment variables of the machine that recorded them.

use super::scan::{bits, fields, integer, items, text, unescape, value};

/// Settings that are 1 if they were on.
const SETTINGS: [&str; 5] = ["record_shapes", "profile_memory", "with_stack", "with_flops", "with_modules"];
const VERSIONS: [&str; 6] = [
    "cuda_runtime_version",
    "cuda_driver_version",
    "cupti_version",
    "hip_runtime_version",
    "hip_driver_version",
    "roctracer_version",
];

#[derive(Debug, Default)]
pub struct TopLevel {
    pub schema: Option<i64>,
    /// Nanoseconds since 1970 of time 0.
    pub base: Option<u64>,
    pub rank: Option<i64>,
    pub world_size: Option<i64>,
    pub backend: String,
    /// Names of devices, in the order of the file.
    pub devices: Vec<String>,
    pub settings: Vec<&'static str>,
    pub versions: Vec<(&'static str, String)>,
}

impl TopLevel {
    pub fn knows(key: &[u8]) -> bool {
        matches!(key, b"schemaVersion" | b"deviceProperties" | b"distributedInfo" | b"baseTimeNanoseconds")
            || SETTINGS.iter().chain(&VERSIONS).any(|known| known.as_bytes() == key)
    }

    pub fn read(&mut self, key: &[u8], written: &[u8]) {
        let content = text(written);
        match key {
            b"schemaVersion" => self.schema = integer(content),
            b"baseTimeNanoseconds" => self.base = bits(content),
            b"deviceProperties" => self.read_devices(written),
            b"distributedInfo" => self.read_distributed(written),
            _ => {
                let setting = SETTINGS.into_iter().find(|known| known.as_bytes() == key);
                self.settings.extend(setting.filter(|_| content != b"0" && content != b"false"));
                if let Some(version) = VERSIONS.into_iter().find(|known| known.as_bytes() == key) {
                    self.versions.push((version, unescape(content)));
                }
            }
        }
    }

    // Damage at the top level leaves out a fact; events count on.
    fn read_devices(&mut self, written: &[u8]) {
        if !written.starts_with(b"[") {
            return;
        }
        let _ = items(written, 0, |at| {
            if written[at] != b'{' {
                return value(written, at);
            }
            fields(written, at, |key, at| {
                let end = value(written, at)?;
                if key == b"name" {
                    self.devices.push(unescape(text(&written[at..end])));
                }
                Ok(end)
            })
        });
    }

    fn read_distributed(&mut self, written: &[u8]) {
        if !written.starts_with(b"{") {
            return;
        }
        let _ = fields(written, 0, |key, at| {
            let end = value(written, at)?;
            let content = text(&written[at..end]);
            match key {
                b"rank" => self.rank = integer(content),
                b"world_size" => self.world_size = integer(content),
                b"backend" => self.backend = unescape(content),
                _ => {}
            }
            Ok(end)
        });
    }
}
