//! Tables for Python by Arrow's C interface: pandas, polars, DuckDB and pyarrow take them without a copy of the numbers.
//!
//! The interface is three structs of C, each with a function that frees it. This is the one place of this crate that needs
//! `unsafe`: a consumer moves a struct by copying its bytes, and calls the function once, as the specification says.
#![allow(unsafe_code)]

use crate::answer::in_memory;
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyTuple};
use std::ffi::{CString, c_char, c_int, c_void};
use std::ops::Range;
use std::ptr;
use std::sync::Arc;
use tfprof::internal::columnar::arrow::{ArrayBuffers, buffers, field_metadata, pieces, validity};
use tfprof::internal::columnar::{Batch, Collected, Column, Datum, Field, Fill, Kind};
use tfprof::internal::render::tabular;
use tfprof::{Error, View};

/// The rows of a table, a view or a statement in SQL.
#[pyclass(frozen, module = "tfprof._native")]
#[derive(Debug)]
pub struct TypedRows {
    fields: Arc<Vec<Field>>,
    rows: Arc<Batch>,
}

impl TypedRows {
    pub fn new(fields: Vec<Field>, rows: Batch) -> TypedRows {
        TypedRows { fields: Arc::new(fields), rows: Arc::new(rows) }
    }

    /// The rows of a view.
    pub fn of_view(view: &View) -> Result<TypedRows, Error> {
        let (fields, columns) = tabular::fields(view);
        let empty = Batch::new(&fields);
        TypedRows::filled(fields, &mut |sink| tabular::fill(view, &columns, empty.clone(), sink))
    }

    /// All rows that `fill` hands on.
    pub fn filled(fields: Vec<Field>, fill: Fill<'_>) -> Result<TypedRows, Error> {
        let mut all = Collected::new(&fields);
        fill(&mut all).map_err(in_memory)?;
        Ok(TypedRows::new(fields, all.all))
    }
}

#[pymethods]
impl TypedRows {
    fn __len__(&self) -> usize {
        self.rows.rows()
    }

    /// By column: name, type in SQL, unit, whether cells may be missing, and what it holds.
    #[getter]
    fn schema(&self) -> Vec<(String, &'static str, &'static str, bool, String)> {
        let column = |field: &Field| {
            (field.name.to_string(), field.kind.sql(), field.unit, field.nullable, field.about.to_string())
        };
        self.fields.iter().map(column).collect()
    }

    /// The cells of a row; None for those that are missing.
    fn row<'py>(&self, py: Python<'py>, at: usize) -> PyResult<Bound<'py, PyTuple>> {
        if at >= self.rows.rows() {
            return Err(PyIndexError::new_err(format!("there is no row {at}; the table has {}", self.rows.rows())));
        }
        let cell = |column: &Column| -> PyResult<Bound<'py, PyAny>> {
            Ok(match column.datum(at) {
                Datum::Null => py.None().into_bound(py),
                Datum::Int(n) => n.into_pyobject(py)?.into_any(),
                Datum::Real(x) => x.into_pyobject(py)?.into_any(),
                Datum::Bool(is) => is.into_pyobject(py)?.to_owned().into_any(),
                Datum::Text(text) => text.into_pyobject(py)?.into_any(),
            })
        };
        let cells: Vec<_> = self.rows.columns.iter().map(cell).collect::<PyResult<_>>()?;
        PyTuple::new(py, cells)
    }

    /// The schema, for libraries that ask for it first.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        PyCapsule::new_with_value(py, schema_of(&self.fields), c"arrow_schema")
    }

    /// The rows as a stream of batches. A requested schema is a wish, which this table does not grant.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        let state = StreamState {
            fields: Arc::clone(&self.fields),
            rows: Arc::clone(&self.rows),
            pieces: pieces(&self.rows).into_iter(),
        };
        let stream = ArrowArrayStream {
            get_schema: Some(get_schema),
            get_next: Some(get_next),
            get_last_error: Some(get_last_error),
            release: Some(release_stream),
            private_data: Box::into_raw(Box::new(state)).cast(),
        };
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }
}

// ---- the structs of Arrow's C data interface and C stream interface

#[repr(C)]
struct ArrowSchema {
    format: *const c_char,
    name: *const c_char,
    metadata: *const c_char,
    flags: i64,
    n_children: i64,
    children: *mut *mut ArrowSchema,
    dictionary: *mut ArrowSchema,
    release: Option<unsafe extern "C" fn(*mut ArrowSchema)>,
    private_data: *mut c_void,
}

#[repr(C)]
struct ArrowArray {
    length: i64,
    null_count: i64,
    offset: i64,
    n_buffers: i64,
    n_children: i64,
    buffers: *mut *const c_void,
    children: *mut *mut ArrowArray,
    dictionary: *mut ArrowArray,
    release: Option<unsafe extern "C" fn(*mut ArrowArray)>,
    private_data: *mut c_void,
}

#[repr(C)]
struct ArrowArrayStream {
    get_schema: Option<unsafe extern "C" fn(*mut ArrowArrayStream, *mut ArrowSchema) -> c_int>,
    get_next: Option<unsafe extern "C" fn(*mut ArrowArrayStream, *mut ArrowArray) -> c_int>,
    get_last_error: Option<unsafe extern "C" fn(*mut ArrowArrayStream) -> *const c_char>,
    release: Option<unsafe extern "C" fn(*mut ArrowArrayStream)>,
    private_data: *mut c_void,
}

// SAFETY: the structs own what they point to, which may be freed on any thread; nothing else refers to it.
unsafe impl Send for ArrowSchema {}
// SAFETY: as above.
unsafe impl Send for ArrowArrayStream {}

impl Drop for ArrowSchema {
    fn drop(&mut self) {
        if let Some(release) = self.release {
            // SAFETY: nobody took the struct, or it would have no such function.
            unsafe { release(self) }
        }
    }
}

impl Drop for ArrowArrayStream {
    fn drop(&mut self) {
        if let Some(release) = self.release {
            // SAFETY: nobody took the struct, or it would have no such function.
            unsafe { release(self) }
        }
    }
}

/// Arrow's flag for columns that may have missing cells.
const NULLABLE: i64 = 2;

/// What the pointers of a schema refer to.
struct SchemaParts {
    _texts: Vec<CString>,
    metadata: Vec<u8>,
    children: Vec<*mut ArrowSchema>,
}

fn schema_of(fields: &[Field]) -> ArrowSchema {
    let child = |field: &Field| {
        let format = match field.kind {
            Kind::Int => "l",
            Kind::Real => "g",
            Kind::Bool => "b",
            Kind::Text => "U",
        };
        let metadata = packed(&field_metadata(field));
        let flags = if field.nullable { NULLABLE } else { 0 };
        Box::into_raw(Box::new(new_schema(format, &field.name, metadata, flags, Vec::new())))
    };
    new_schema("+s", "", Vec::new(), 0, fields.iter().map(child).collect())
}

fn new_schema(format: &str, name: &str, metadata: Vec<u8>, flags: i64, children: Vec<*mut ArrowSchema>) -> ArrowSchema {
    let texts = [format, name].map(|text| CString::new(text.replace('\0', " ")).unwrap_or_default());
    let [format, name] = [texts[0].as_ptr(), texts[1].as_ptr()];
    let mut parts = Box::new(SchemaParts { _texts: texts.into(), metadata, children });
    ArrowSchema {
        format,
        name,
        metadata: if parts.metadata.is_empty() { ptr::null() } else { parts.metadata.as_ptr().cast() },
        flags,
        n_children: parts.children.len() as i64,
        children: parts.children.as_mut_ptr(),
        dictionary: ptr::null_mut(),
        release: Some(release_schema),
        private_data: Box::into_raw(parts).cast(),
    }
}

/// Pairs of texts as the interface packs them: counts and lengths as native numbers of 32 bits.
fn packed(pairs: &[(&str, &str)]) -> Vec<u8> {
    if pairs.is_empty() {
        return Vec::new();
    }
    let mut bytes = (pairs.len() as i32).to_ne_bytes().to_vec();
    for text in pairs.iter().flat_map(|(key, value)| [key, value]) {
        bytes.extend_from_slice(&(text.len() as i32).to_ne_bytes());
        bytes.extend_from_slice(text.as_bytes());
    }
    bytes
}

unsafe extern "C" fn release_schema(schema: *mut ArrowSchema) {
    // SAFETY: the caller hands over a schema of ours, once; its children are boxes that `schema_of` made.
    unsafe {
        let parts = Box::from_raw((*schema).private_data.cast::<SchemaParts>());
        for child in &parts.children {
            drop(Box::from_raw(*child));
        }
        (*schema).release = None;
    }
}

/// What the pointers of an array refer to.
struct ArrayParts {
    pointers: Vec<*const c_void>,
    _owned: Option<ArrayBuffers>,
    _rows: Option<Arc<Batch>>,
    children: Vec<*mut ArrowArray>,
}

fn new_array(length: usize, nulls: usize, offset: usize, mut parts: Box<ArrayParts>) -> ArrowArray {
    ArrowArray {
        length: length as i64,
        null_count: nulls as i64,
        offset: offset as i64,
        n_buffers: parts.pointers.len() as i64,
        n_children: parts.children.len() as i64,
        buffers: parts.pointers.as_mut_ptr(),
        children: parts.children.as_mut_ptr(),
        dictionary: ptr::null_mut(),
        release: Some(release_array),
        private_data: Box::into_raw(parts).cast(),
    }
}

/// Some rows of a column. Numbers stay where they are; flags and texts are put as Arrow has them.
fn array_of(rows: &Arc<Batch>, column: &Column, range: &Range<usize>) -> ArrowArray {
    let optional = |bytes: &[u8]| if bytes.is_empty() { ptr::null() } else { bytes.as_ptr().cast::<c_void>() };
    let numbers: Option<*const c_void> = match column {
        Column::Ints(cells) => Some(cells.values[range.clone()].as_ptr().cast()),
        Column::Reals(cells) => Some(cells.values[range.clone()].as_ptr().cast()),
        Column::Bools(_) | Column::Texts(..) => None,
    };
    let (owned, pointers) = match numbers {
        Some(numbers) => {
            let (nulls, validity) = validity(column, range.clone());
            let owned = ArrayBuffers { length: range.len(), nulls, validity, ..ArrayBuffers::default() };
            let pointers = vec![optional(&owned.validity), numbers];
            (owned, pointers)
        }
        None => {
            let owned = buffers(column, range.clone());
            let offsets = owned.offsets.as_ref().map(|offsets| offsets.as_ptr().cast::<c_void>());
            let mut pointers = vec![optional(&owned.validity)];
            pointers.extend(offsets);
            pointers.push(owned.values.as_ptr().cast());
            (owned, pointers)
        }
    };
    let (length, nulls) = (owned.length, owned.nulls);
    let parts = ArrayParts { pointers, _owned: Some(owned), _rows: Some(Arc::clone(rows)), children: Vec::new() };
    new_array(length, nulls, 0, Box::new(parts))
}

unsafe extern "C" fn release_array(array: *mut ArrowArray) {
    // SAFETY: the caller hands over an array of ours, once. A consumer may have moved a child away, which then has no
    // function to free it; the box around it is still ours.
    unsafe {
        let parts = Box::from_raw((*array).private_data.cast::<ArrayParts>());
        for child in &parts.children {
            if let Some(release) = (**child).release {
                release(*child);
            }
            drop(Box::from_raw(*child));
        }
        (*array).release = None;
    }
}

/// A stream in progress.
struct StreamState {
    fields: Arc<Vec<Field>>,
    rows: Arc<Batch>,
    pieces: std::vec::IntoIter<Range<usize>>,
}

unsafe extern "C" fn get_schema(stream: *mut ArrowArrayStream, out: *mut ArrowSchema) -> c_int {
    // SAFETY: the stream is ours and not released; `out` is room for a schema that need not be valid before.
    unsafe {
        let state = &*(*stream).private_data.cast::<StreamState>();
        out.write(schema_of(&state.fields));
    }
    0
}

unsafe extern "C" fn get_next(stream: *mut ArrowArrayStream, out: *mut ArrowArray) -> c_int {
    // SAFETY: the stream is ours and not released; `out` is room for an array that need not be valid before.
    unsafe {
        let state = &mut *(*stream).private_data.cast::<StreamState>();
        let Some(range) = state.pieces.next() else {
            // The end is an array without a function to free it.
            let parts = ArrayParts { pointers: Vec::new(), _owned: None, _rows: None, children: Vec::new() };
            let mut end = new_array(0, 0, 0, Box::new(parts));
            release_array(&raw mut end);
            out.write(end);
            return 0;
        };
        let child = |column: &Column| Box::into_raw(Box::new(array_of(&state.rows, column, &range)));
        let children = state.rows.columns.iter().map(child).collect();
        let parts = ArrayParts { pointers: vec![ptr::null()], _owned: None, _rows: None, children };
        out.write(new_array(range.len(), 0, 0, Box::new(parts)));
    }
    0
}

unsafe extern "C" fn get_last_error(_: *mut ArrowArrayStream) -> *const c_char {
    ptr::null()
}

unsafe extern "C" fn release_stream(stream: *mut ArrowArrayStream) {
    // SAFETY: the caller hands over a stream of ours, once.
    unsafe {
        drop(Box::from_raw((*stream).private_data.cast::<StreamState>()));
        (*stream).release = None;
    }
}
