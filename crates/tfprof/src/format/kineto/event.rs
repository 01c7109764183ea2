//! One trace event: the fields that a question may need, as slices of the text.

use super::scan::{Scanned, Stop, blanks, fields, scalar, string, value};

/// An event. Strings are raw: escapes are decoded only when a name is first seen.
#[derive(Clone, Copy, Debug, Default)]
pub struct Event<'b> {
    pub phase: u8,
    pub name: &'b [u8],
    pub category: &'b [u8],
    pub start: &'b [u8],
    pub duration: &'b [u8],
    pub process: &'b [u8],
    pub thread: &'b [u8],
    pub args: Args<'b>,
}

/// The arguments of an event, each as its text: strings without their quotes, lists with their brackets.
#[derive(Clone, Copy, Debug, Default)]
pub struct Args<'b> {
    pub external_id: &'b [u8],
    pub correlation: &'b [u8],
    pub dims: &'b [u8],
    pub types: &'b [u8],
    pub concrete: &'b [u8],
    pub sequence: &'b [u8],
    pub forward_thread: &'b [u8],
    pub call_stack: &'b [u8],
    pub device: &'b [u8],
    pub graph_node: &'b [u8],
    pub grid: &'b [u8],
    pub block: &'b [u8],
    pub registers: &'b [u8],
    pub shared: &'b [u8],
    pub occupancy: &'b [u8],
    pub bytes: &'b [u8],
    pub device_type: &'b [u8],
    pub device_id: &'b [u8],
    pub allocated: &'b [u8],
    pub reserved: &'b [u8],
    pub collective: &'b [u8],
    pub in_elements: &'b [u8],
    pub out_elements: &'b [u8],
    pub dtype: &'b [u8],
    pub group_size: &'b [u8],
    /// The argument of events that name a process or a thread.
    pub name: &'b [u8],
    pub labels: &'b [u8],
}

impl<'b> Event<'b> {
    /// Reads the event that begins at a brace; returns it with the position after it.
    pub fn read(bytes: &'b [u8], at: usize) -> Scanned<(Event<'b>, usize)> {
        let mut event = Event::default();
        let end = fields(bytes, at, |key, at| {
            let slot = match key {
                b"name" => &mut event.name,
                b"cat" => &mut event.category,
                b"ts" => &mut event.start,
                b"dur" => &mut event.duration,
                b"pid" => &mut event.process,
                b"tid" => &mut event.thread,
                b"args" if bytes[at] == b'{' => return event.args.read(bytes, at),
                b"ph" => {
                    let (text, end) = content(bytes, at)?;
                    event.phase = text.first().copied().unwrap_or(0);
                    return Ok(end);
                }
                _ => return value(bytes, at),
            };
            let (text, end) = content(bytes, at)?;
            *slot = text;
            Ok(end)
        })?;
        Ok((event, end))
    }
}

impl<'b> Args<'b> {
    fn read(&mut self, bytes: &'b [u8], at: usize) -> Scanned<usize> {
        fields(bytes, at, |key, at| {
            let Some(slot) = self.slot(key) else { return value(bytes, at) };
            let (text, end) = content(bytes, at)?;
            *slot = text;
            Ok(end)
        })
    }

    #[inline]
    fn slot(&mut self, key: &[u8]) -> Option<&mut &'b [u8]> {
        Some(match key {
            b"External id" | b"external id" => &mut self.external_id,
            b"correlation" => &mut self.correlation,
            b"Input Dims" | b"Input dims" => &mut self.dims,
            b"Input type" => &mut self.types,
            b"Concrete Inputs" => &mut self.concrete,
            b"Sequence number" => &mut self.sequence,
            b"Fwd thread id" => &mut self.forward_thread,
            b"Call stack" => &mut self.call_stack,
            b"device" => &mut self.device,
            b"graph node id" => &mut self.graph_node,
            b"grid" => &mut self.grid,
            b"block" => &mut self.block,
            b"registers per thread" => &mut self.registers,
            b"shared memory" => &mut self.shared,
            b"est. achieved occupancy %" => &mut self.occupancy,
            b"bytes" | b"Bytes" => &mut self.bytes,
            b"Device Type" => &mut self.device_type,
            b"Device Id" => &mut self.device_id,
            b"Total Allocated" => &mut self.allocated,
            b"Total Reserved" => &mut self.reserved,
            b"Collective name" => &mut self.collective,
            b"In msg nelems" => &mut self.in_elements,
            b"Out msg nelems" => &mut self.out_elements,
            b"dtype" => &mut self.dtype,
            b"Group size" => &mut self.group_size,
            b"name" => &mut self.name,
            b"labels" => &mut self.labels,
            _ => return None,
        })
    }
}

/// The text of a value, and the position after it.
#[inline]
fn content(bytes: &[u8], at: usize) -> Scanned<(&[u8], usize)> {
    match bytes.get(at) {
        Some(b'"') => string(bytes, at),
        Some(b'{' | b'[') => {
            let end = value(bytes, at)?;
            Ok((&bytes[at..end], end))
        }
        Some(_) => {
            let end = scalar(bytes, at)?;
            Ok((&bytes[at..end], end))
        }
        None => Err(Stop::End),
    }
}

/// Whether an event begins here: a brace and a key.
pub fn begins(bytes: &[u8], at: usize) -> bool {
    bytes.get(at) == Some(&b'{') && blanks(bytes, at + 1).is_ok_and(|next| bytes[next] == b'"')
}
