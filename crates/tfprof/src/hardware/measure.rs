//! Measures the peak rates of this machine's CPU: multiply-adds in registers on all threads, and copies and triads of arrays
//! that no cache holds. The best of several rounds counts, since other programs only make it slower.

use super::{Ceiling, MEASURED, Precision};
use std::hint::black_box;
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

/// Independent sums of each thread: enough to keep all units busy while a multiply-add takes its cycles.
const SUMS: usize = 12;
/// Multiply-adds per lane between two readings of the clock.
const BATCH: usize = 50_000;
/// Rounds of a series, and the time that one takes at least: shorter than the slice that a busy machine gives a thread, so that
/// some rounds are undisturbed.
const ROUNDS: usize = 120;
const ROUND: Duration = Duration::from_millis(1);
/// The maximum number of series. Measuring stops earlier once this many in a row have not beaten the best one by this
/// factor.
const SERIES: usize = 24;
const SERIES_WITHOUT_GAIN: usize = 3;
const FASTER: f64 = 1.005;
/// Elements of each array of a thread: 64 MB, beyond the caches of most processors.
const ELEMENTS: usize = 16 << 20;
/// Elements moved between two readings of the clock.
const PIECE: usize = 256 << 10;

/// Peaks of this machine's CPU.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Measurement {
    pub threads: usize,
    /// The widest instructions that the CPU has for multiply-adds.
    pub instructions: &'static str,
    /// Numbers of float32 in one register.
    pub width: usize,
    pub f32_flops: f64,
    pub f64_flops: f64,
    /// Bytes read and written a second, by the faster of copy and triad.
    pub bandwidth: f64,
    pub copy: f64,
    pub triad: f64,
}

impl Measurement {
    pub fn ceiling(&self) -> Ceiling {
        let mut ceiling = Ceiling::default();
        ceiling.set_flops(Some(Precision::F32), self.f32_flops);
        ceiling.set_flops(Some(Precision::F64), self.f64_flops);
        ceiling.set_bandwidth(self.bandwidth);
        ceiling
    }

    /// How it was measured.
    pub fn source(&self) -> String {
        let Measurement { threads, instructions, width, .. } = self;
        let plural = if *threads == 1 { "" } else { "s" };
        format!("measured by tfprof peak: {threads} thread{plural}, {instructions}, {width} float32 in a register")
    }

    /// The measurement as a device of `devices.toml`.
    pub fn entry(&self) -> String {
        let Measurement { f32_flops, f64_flops, bandwidth, .. } = self;
        format!(
            "[[device]]\nname = \"CPU of this machine\"\nmatch = [\"{MEASURED}\"]\nbandwidth = {bandwidth:.4e}\nf64 = \
             {f64_flops:.4e}\nf32 = {f32_flops:.4e}\nsource = \"{}\"\n",
            self.source()
        )
    }
}

/// Measures all threads at once. Takes three seconds, and more on a busy machine.
pub fn measure(threads: usize) -> Measurement {
    let threads = threads.max(1);
    let kernel = Kernel::best();
    let f32_flops = best(threads, || (), |()| kernel.run_f32());
    let f64_flops = best(threads, || (), |()| kernel.run_f64());
    let copy = best(threads, Arrays::new, |arrays| {
        let [to, from, _] = arrays.next();
        to.copy_from_slice(black_box(from));
        black_box(to);
        (2 * PIECE * size_of::<f32>()) as f64
    });
    let triad = best(threads, Arrays::new, |arrays| {
        let [to, one, two] = arrays.next();
        triad(to, one, two);
        black_box(to);
        (3 * PIECE * size_of::<f32>()) as f64
    });
    let (instructions, width) = kernel.described();
    Measurement { threads, instructions, width, f32_flops, f64_flops, bandwidth: copy.max(triad), copy, triad }
}

/// Three arrays that no cache holds, used piece by piece.
struct Arrays {
    all: [Vec<f32>; 3],
    at: usize,
}

impl Arrays {
    fn new() -> Arrays {
        Arrays { all: [0.0, 1.0, 2.0].map(|x: f32| vec![x; ELEMENTS]), at: 0 }
    }

    /// The next piece of each.
    fn next(&mut self) -> [&mut [f32]; 3] {
        let start = self.at;
        self.at = (start + PIECE) % ELEMENTS;
        self.all.each_mut().map(|array| &mut array[start..start + PIECE])
    }
}

fn triad(to: &mut [f32], one: &[f32], two: &[f32]) {
    let scale = black_box(3.0_f32);
    for ((to, one), two) in to.iter_mut().zip(one).zip(two) {
        *to = scale * two + one;
    }
}

/// The best rate of several series of rounds: on a machine where others run beside, the first ones may all be disturbed.
fn best<D>(threads: usize, data: impl Fn() -> D + Sync, work: impl Fn(&mut D) -> f64 + Sync) -> f64 {
    let (mut best, mut slower) = (0.0_f64, 0);
    for _ in 0..SERIES {
        let rate = series(threads, &data, &work);
        slower = if rate > best * FASTER { 0 } else { slower + 1 };
        best = best.max(rate);
        if slower == SERIES_WITHOUT_GAIN {
            break;
        }
    }
    best
}

/// The best rate of several rounds: all threads start together, and each repeats `work`, which returns how much it did.
fn series<D>(threads: usize, data: &(impl Fn() -> D + Sync), work: &(impl Fn(&mut D) -> f64 + Sync)) -> f64 {
    let barrier = Barrier::new(threads);
    let rounds = || {
        let mut data = data();
        // The first round warms up, and touches the memory.
        work(&mut data);
        let mut rates = vec![0.0; ROUNDS];
        for rate in &mut rates {
            barrier.wait();
            let (start, mut done) = (Instant::now(), 0.0);
            while start.elapsed() < ROUND {
                done += work(&mut data);
            }
            *rate = done / start.elapsed().as_secs_f64();
        }
        rates
    };
    let by_thread: Vec<Vec<f64>> = thread::scope(|scope| {
        let rounds = &rounds;
        let handles: Vec<_> = (0..threads).map(|_| scope.spawn(rounds)).collect();
        handles.into_iter().filter_map(|handle| handle.join().ok()).collect()
    });
    (0..ROUNDS).map(|round| by_thread.iter().map(|rates| rates[round]).sum::<f64>()).fold(0.0, f64::max)
}

/// Multiply-adds of one precision with the instructions that every CPU of this architecture has.
macro_rules! plain_loop {
    ($name:ident, $float:ty, $lanes:expr) => {
        fn $name() -> f64 {
            let mut sums = black_box([0.5 as $float; $lanes * SUMS]);
            let (by, plus) = (black_box(0.999 as $float), black_box(0.001 as $float));
            for _ in 0..BATCH {
                for sum in &mut sums {
                    // A CPU of this architecture may lack fused multiply-adds, except on ARM.
                    *sum = if cfg!(target_arch = "aarch64") { sum.mul_add(by, plus) } else { *sum * by + plus };
                }
            }
            black_box(sums);
            (2 * BATCH * SUMS * $lanes) as f64
        }
    };
}

plain_loop!(loop_f32, f32, 4);
plain_loop!(loop_f64, f64, 2);

/// The instructions to measure with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kernel {
    #[cfg(target_arch = "x86_64")]
    Avx512,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// Those that every CPU of this architecture has.
    Baseline,
}

impl Kernel {
    fn best() -> Kernel {
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx512f") {
            return Kernel::Avx512;
        }
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma") {
            return Kernel::Avx2;
        }
        Kernel::Baseline
    }

    fn described(self) -> (&'static str, usize) {
        match self {
            #[cfg(target_arch = "x86_64")]
            Kernel::Avx512 => ("AVX-512", 16),
            #[cfg(target_arch = "x86_64")]
            Kernel::Avx2 => ("AVX2 with FMA", 8),
            Kernel::Baseline if cfg!(target_arch = "aarch64") => ("NEON", 4),
            Kernel::Baseline => ("instructions of any CPU", 4),
        }
    }

    fn run_f32(self) -> f64 {
        match self {
            #[cfg(target_arch = "x86_64")]
            Kernel::Avx512 => x86::run_f32_512(),
            #[cfg(target_arch = "x86_64")]
            Kernel::Avx2 => x86::run_f32(),
            Kernel::Baseline => loop_f32(),
        }
    }

    fn run_f64(self) -> f64 {
        match self {
            #[cfg(target_arch = "x86_64")]
            Kernel::Avx512 => x86::run_f64_512(),
            #[cfg(target_arch = "x86_64")]
            Kernel::Avx2 => x86::run_f64(),
            Kernel::Baseline => loop_f64(),
        }
    }
}

/// Loops over wide registers. Calling them is `unsafe` in Rust, since a CPU may lack the instructions: `Kernel::best` has
/// asked it. Inside, everything is safe.
#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code)]
mod x86 {
    use super::{BATCH, SUMS};
    use std::arch::asm;
    use std::arch::x86_64::{_mm256_fmadd_pd, _mm256_fmadd_ps, _mm256_set1_pd, _mm256_set1_ps};
    use std::hint::black_box;

    macro_rules! wide_loop {
        ($name:ident, $features:literal, $lanes:literal, $float:ty, $set:ident, $fma:ident) => {
            #[target_feature(enable = $features)]
            fn $name() -> f64 {
                let mut sums = [$set(black_box(0.5 as $float)); SUMS];
                let (by, plus) = ($set(black_box(0.999 as $float)), $set(black_box(0.001 as $float)));
                for _ in 0..BATCH {
                    for sum in &mut sums {
                        *sum = $fma(*sum, by, plus);
                    }
                }
                black_box(sums);
                (2 * BATCH * SUMS * $lanes) as f64
            }
        };
    }

    wide_loop!(avx2_f32, "avx2,fma", 8, f32, _mm256_set1_ps, _mm256_fmadd_ps);
    wide_loop!(avx2_f64, "avx2,fma", 4, f64, _mm256_set1_pd, _mm256_fmadd_pd);

    pub(super) fn run_f32() -> f64 {
        // SAFETY: the CPU has AVX2 and FMA.
        unsafe { avx2_f32() }
    }

    pub(super) fn run_f64() -> f64 {
        // SAFETY: the CPU has AVX2 and FMA.
        unsafe { avx2_f64() }
    }

    /// The same loop on registers of 512 bits, as instructions: the oldest compiler that builds this has no functions for them.
    macro_rules! widest_loop {
        ($name:ident, $lanes:literal, $float:ty, $broadcast:literal, $fma:literal) => {
            pub(super) fn $name() -> f64 {
                let (start, by, plus): ($float, $float, $float) = black_box((0.5, 0.999, 0.001));
                // SAFETY: the CPU has AVX-512. The loop reads three numbers, ends after BATCH rounds, and all registers that it
                // writes are named.
                unsafe {
                    asm!(
                        concat!($broadcast, " zmm12, [{by}]"),
                        concat!($broadcast, " zmm13, [{plus}]"),
                        concat!($broadcast, " zmm0, [{start}]"),
                        "vmovaps zmm1, zmm0", "vmovaps zmm2, zmm0", "vmovaps zmm3, zmm0", "vmovaps zmm4, zmm0",
                        "vmovaps zmm5, zmm0", "vmovaps zmm6, zmm0", "vmovaps zmm7, zmm0", "vmovaps zmm8, zmm0",
                        "vmovaps zmm9, zmm0", "vmovaps zmm10, zmm0", "vmovaps zmm11, zmm0",
                        "2:",
                        concat!($fma, " zmm0, zmm12, zmm13"), concat!($fma, " zmm1, zmm12, zmm13"),
                        concat!($fma, " zmm2, zmm12, zmm13"), concat!($fma, " zmm3, zmm12, zmm13"),
                        concat!($fma, " zmm4, zmm12, zmm13"), concat!($fma, " zmm5, zmm12, zmm13"),
                        concat!($fma, " zmm6, zmm12, zmm13"), concat!($fma, " zmm7, zmm12, zmm13"),
                        concat!($fma, " zmm8, zmm12, zmm13"), concat!($fma, " zmm9, zmm12, zmm13"),
                        concat!($fma, " zmm10, zmm12, zmm13"), concat!($fma, " zmm11, zmm12, zmm13"),
                        "dec {rounds}",
                        "jnz 2b",
                        "vzeroupper",
                        start = in(reg) &raw const start,
                        by = in(reg) &raw const by,
                        plus = in(reg) &raw const plus,
                        rounds = inout(reg) BATCH => _,
                        out("xmm0") _, out("xmm1") _, out("xmm2") _, out("xmm3") _, out("xmm4") _, out("xmm5") _,
                        out("xmm6") _, out("xmm7") _, out("xmm8") _, out("xmm9") _, out("xmm10") _, out("xmm11") _,
                        out("xmm12") _, out("xmm13") _,
                        options(readonly, nostack),
                    );
                }
                (2 * BATCH * SUMS * $lanes) as f64
            }
        };
    }

    widest_loop!(run_f32_512, 16, f32, "vbroadcastss", "vfmadd213ps");
    widest_loop!(run_f64_512, 8, f64, "vbroadcastsd", "vfmadd213pd");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_read_back() {
        let measured = Measurement {
            threads: 2,
            instructions: "AVX-512",
            width: 16,
            f32_flops: 2.5e11,
            f64_flops: 1.25e11,
            bandwidth: 4e10,
            copy: 4e10,
            triad: 3e10,
        };
        let devices = super::super::parse("x", &measured.entry()).expect("a table");
        assert_eq!((devices.len(), devices[0].ceiling), (1, measured.ceiling()));
        assert!(devices[0].source.contains("2 threads, AVX-512, 16 float32"), "{}", devices[0].source);
    }

    #[test]
    fn all_threads_count() {
        let rate = best(
            2,
            || (),
            |()| {
                thread::sleep(Duration::from_millis(1));
                1.0
            },
        );
        // Two threads, at most 1000 times a second each.
        assert!(rate > 0.0 && rate <= 2000.0, "{rate}");
    }
}
