//! Makes files out of any bytes: each choice of a generator takes a byte or two. Names and numbers come from lists of
//! those that once went wrong, and parts repeat hundreds of times, since that is where amplification starts.

use tfprof_proto::write;

/// Names that break rows, tables, terminals, pages, spreadsheets and paths.
const NAMES: &[&[u8]] = &[
    b"", b"/", b"//", b"a//b", b"a/", b"/a", b".", b"..", b"../../etc/passwd", b"a", b"a/b", b"a/b/c", b"b",
    b"_TFProfRoot", b"^a", b"a:0", b"a:1", b"a:4294967295", b"a:-1", b":", b"^", b"a\nforged (9 params)", b"a\r\nb",
    b"\x1b[2J", b"\x1b]0;title\x07", b"\x00", b"a\x00b", b"\xff", b"\xff[31m", b"\xc3", b"\xed\xa0\x80", b"\x7f\x9b",
    "\u{202e}right".as_bytes(), "\u{2028}\u{2029}".as_bytes(), "\u{200b}\u{feff}".as_bytes(), "e\u{301}".as_bytes(),
    "界界界界界界界界界界界界界界界界界界界界".as_bytes(), "👩‍👩‍👧‍👦".as_bytes(), b"=1+1", b"+1", b"-1", b"@x", b"\t=1", b"<script>alert(1)</script>",
    b"</script><img src=x onerror=alert(1)>", b"<!--", b"]]>", b"&amp;&lt;", b"\"'`", b"|a|", b"a;b;c", b"a,b", b"%s%n",
    b"${x}", b"{}", b"\\", b"\\u0000", b"C:\\x", b"1e999", b"NaN", b"null", b"gradients/a", b"a_grad/b", b"Adam/a",
    b"/device:GPU:0", b"/host:CPU", b"/job:w/replica:0/task:1/device:GPU:3", b"/device:CUSTOM", b"jit_f(1)/dot.1",
];

/// Numbers at the ends of their types, and plain ones.
const NUMBERS: &[i64] = &[
    0, 1, 2, 3, 7, -1, -2, 8, 100, 127, 128, 255, 256, 65_535, 65_536, 1_000_000, 1 << 31, (1 << 31) - 1, -(1 << 31), 1 << 32,
    1_700_000_000_000_000, 1 << 53, i64::MAX, i64::MAX - 1, i64::MIN, i64::MIN + 1, 1 << 62, 10_i64.pow(12),
];

/// A file does not grow beyond this.
const MOST: usize = 160_000;

#[derive(Clone, Debug)]
pub struct Make<'a> {
    bytes: &'a [u8],
    /// Which of many repeated parts is being made; names may end with it.
    pub turn: usize,
    /// Bytes made so far by repetition.
    made: usize,
}

impl<'a> Make<'a> {
    pub fn new(bytes: &'a [u8]) -> Make<'a> {
        Make { bytes, turn: 0, made: 0 }
    }

    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    pub fn byte(&mut self) -> u8 {
        self.bytes.split_off_first().copied().unwrap_or(0)
    }

    /// A number below `end`.
    pub fn below(&mut self, end: usize) -> usize {
        let byte = usize::from(self.byte());
        if end > 256 { (byte << 8 | usize::from(self.byte())) % end } else { byte % end.max(1) }
    }

    /// True once in `times` turns, and never without bytes.
    pub fn once_in(&mut self, times: u8) -> bool {
        !self.is_empty() && self.byte() % times == times - 1
    }

    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }

    pub fn number(&mut self) -> i64 {
        match self.byte() {
            choice if usize::from(choice) < NUMBERS.len() => NUMBERS[usize::from(choice)],
            choice if choice < 128 => i64::from(choice) * 1000 + self.turn as i64,
            choice => i64::from(choice & 63) + self.turn as i64,
        }
    }

    /// A small number: an index or a count.
    pub fn small(&mut self) -> i64 {
        i64::from(self.byte() & 15)
    }

    /// Some of the bytes themselves.
    pub fn raw(&mut self) -> Vec<u8> {
        let length = self.below(64).min(self.bytes.len());
        self.bytes.split_off(..length).unwrap_or_default().to_vec()
    }

    pub fn name(&mut self) -> Vec<u8> {
        match self.byte() {
            choice if usize::from(choice) < NAMES.len() => NAMES[usize::from(choice)].to_vec(),
            90..100 => b"s/".repeat(self.pick(&[10, 300, 3000])),
            100..110 => b"n".repeat(self.pick(&[60, 4000, 66_000])),
            110..120 => [self.name_of_list(), b"/".to_vec(), self.name_of_list()].concat(),
            120..130 => self.raw(),
            130..180 => format!("n{}", self.turn).into_bytes(),
            180..210 => format!("s{}/t/n{}", self.turn % 7, self.turn).into_bytes(),
            choice => format!("n{}", choice & 15).into_bytes(),
        }
    }

    fn name_of_list(&mut self) -> Vec<u8> {
        self.pick(NAMES).to_vec()
    }

    /// Calls `part` once, or hundreds of times with the same choices and another turn.
    pub fn repeat(&mut self, out: &mut Vec<u8>, mut part: impl FnMut(&mut Make<'a>, &mut Vec<u8>)) {
        let times = match self.byte() {
            0..200 => 1,
            200..240 => 20,
            240..252 => 300,
            _ => 3000,
        };
        let start = self.clone();
        for turn in 0..times {
            if turn > 0 {
                (self.bytes, self.turn) = (start.bytes, turn);
            }
            let before = out.len();
            part(self, out);
            self.made += out.len() - before;
            if self.made > MOST {
                break;
            }
        }
        self.turn = start.turn;
    }

    /// Whether there is room for more.
    pub fn goes_on(&self) -> bool {
        !self.is_empty() && self.made < MOST
    }
}

// ---- protobuf

pub fn text(out: &mut Vec<u8>, field: u32, content: impl AsRef<[u8]>) {
    write::element(out, field, content.as_ref());
}

pub fn number(out: &mut Vec<u8>, field: u32, n: i64) {
    write::key(out, field, 0);
    write::varint(out, n as u64);
}

pub fn message(out: &mut Vec<u8>, field: u32, fill: impl FnOnce(&mut Vec<u8>)) {
    let mut inner = Vec::new();
    fill(&mut inner);
    write::element(out, field, &inner);
}

/// An entry of a map: a number and a message.
pub fn entry(out: &mut Vec<u8>, field: u32, key: i64, fill: impl FnOnce(&mut Vec<u8>)) {
    message(out, field, |out| {
        number(out, 1, key);
        message(out, 2, fill);
    });
}
