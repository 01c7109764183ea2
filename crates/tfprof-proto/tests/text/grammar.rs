//! One test for each thing that the grammar allows or forbids.

use crate::support::{Log, read, read_graph};
use tfprof_proto::schema;
use tfprof_proto::stream::{Layout, Rule};

static ATTR: Layout =
    Layout { fields: &[(3, Rule::Take(3)), (4, Rule::Take(4)), (2, Rule::Take(2)), (8, Rule::Take(8))] };
static NOTHING: Layout = Layout { fields: &[] };

fn read_attr(text: impl AsRef<[u8]>) -> Log {
    read(&mut text.as_ref(), schema::message("tensorflow.AttrValue").unwrap(), &ATTR)
}

/// The fields of a tensor (it has all kinds), and what they become.
#[track_caller]
fn check(text: &str, expected: &str) {
    let log = read_attr(format!("tensor {{ {text} }}"));
    assert_eq!(log, Log { records: vec![format!("8 {{{expected}}}")], offsets: vec![0], ..Log::default() }, "{text}");
}

/// The error that the fields of a tensor give, on a line of their own.
#[track_caller]
fn check_error(text: &str, expected: &str) {
    let log = read_attr(format!("tensor {{\n{text}"));
    assert_eq!(log.error.as_deref(), Some(expected), "{text}");
}

#[track_caller]
fn check_graph(text: &str, expected: &[&str]) {
    let log = read_graph(text);
    assert_eq!(log.error, None, "{text}");
    assert_eq!(log.records, expected, "{text}");
}

#[test]
fn integers() {
    check("int_val: 5", "int_val: 5");
    check("int_val: -5 int_val: - 5 int_val: - # minus\n 5", "int_val: -5 int_val: -5 int_val: -5");
    check("int_val: 0x1F int_val: 017 int_val: 0 int_val: -0x10", "int_val: 31 int_val: 15 int_val: 0 int_val: -16");
    check("int_val: 2147483647 int_val: -2147483648", "int_val: 2147483647 int_val: -2147483648");
    check("int64_val: -9223372036854775808", "int64_val: -9223372036854775808");
    check("uint32_val: 4294967295", "uint32_val: 4294967295");
    check("uint64_val: 18446744073709551615", "uint64_val: 18446744073709551615");
    check_error(
        "int_val: 2147483648",
        "2:10: expected a number from -2147483648 to 2147483647 after `int_val:`, found `2147483648`",
    );
    check_error("uint32_val: -1", "2:14: expected a number from 0 to 4294967295 after `uint32_val:`, found `-1`");
    check_error(
        "uint64_val: 99999999999999999999",
        "2:13: expected a number from 0 to 18446744073709551615 after `uint64_val:`, found `99999999999999999999`",
    );
    check_error("int_val: 1.5", "2:10: expected an integer after `int_val:`, found `1.5`");
    check_error("int_val: 08", "2:10: expected an integer after `int_val:`, found `08`");
    check_error("int_val: 0x", "2:10: expected an integer after `int_val:`, found `0x`");
    check_error("int_val: 'a'", "2:10: expected an integer after `int_val:`, found `'a'`");
    check_error("int_val: 5-5", "2:11: expected a field name or `}`, found `-5`");
}

#[test]
fn sint64_and_fixed64_have_wire_forms_of_their_own() {
    static TAKE: Layout = Layout { fields: &[(12, Rule::Take(12)), (1, Rule::Take(1))] };
    let value = schema::message("tensorflow.StructuredValue").unwrap();
    assert_eq!(read(&mut &b"int64_value: -3"[..], value, &TAKE).records, ["12 Varint(5)"]);
    let trace = schema::message("tensorflow.GraphDebugInfo.FramesByIdEntry").unwrap();
    assert_eq!(read(&mut &b"key: 0x10"[..], trace, &TAKE).records, ["1 Fixed64(16)"]);
}

#[test]
fn floats() {
    check("float_val: 1.5 float_val: 1.5f float_val: 1e5 float_val: 1E-2 float_val: 2e+3F", {
        "float_val: 1.5 float_val: 1.5 float_val: 100000.0 float_val: 0.01 float_val: 2000.0"
    });
    check("float_val: .5 float_val: 5. float_val: 7 float_val: -0", {
        "float_val: 0.5 float_val: 5.0 float_val: 7.0 float_val: -0.0"
    });
    check("float_val: inf float_val: -Infinity float_val: nan float_val: - inf", {
        "float_val: inf float_val: -inf float_val: NaN float_val: -inf"
    });
    check("double_val: 0.1 double_val: 1e400 double_val: 123456789012345678901", {
        "double_val: 0.1 double_val: inf double_val: 1.2345678901234568e20"
    });
    check("float_val: 1e39", "float_val: inf");
    check_error("float_val: 0x10", "2:12: expected a number after `float_val:`, found `0x10`");
    check_error("float_val: one", "2:12: expected a number after `float_val:`, found `one`");
    check_error("float_val: 1.2.3", "2:12: expected a number after `float_val:`, found `1.2.3`");
}

#[test]
fn bools_and_enums() {
    check("bool_val: true bool_val: True bool_val: t bool_val: 1", "bool_val: 1 bool_val: 1 bool_val: 1 bool_val: 1");
    check("bool_val: false bool_val: False bool_val: f bool_val: 0", "bool_val: 0 bool_val: 0 bool_val: 0 bool_val: 0");
    check("dtype: DT_FLOAT", "dtype: 1");
    check("dtype: 101 dtype: -1", "dtype: 101 dtype: -1");
    check_error("bool_val: 2", "2:11: expected a number from 0 to 1 after `bool_val:`, found `2`");
    check_error("bool_val: yes", "2:11: expected `true` or `false` after `bool_val:`, found `yes`");
    check_error("bool_val: -true", "2:12: expected `true` or `false` after `bool_val:`, found `true`");
    check_error("dtype: 'DT_FLOAT'", "2:8: expected a name or a number after `dtype:`, found `'DT_FLOAT'`");
}

#[test]
fn an_enum_value_from_the_future_is_left_out_with_a_warning() {
    let log = read_attr("tensor {\n dtype: DT_FLOAT9 int_val: 1\n dtype: DT_FLOAT9 }");
    assert_eq!(log.records, ["8 {int_val: 1}"]);
    assert_eq!(log.warnings, ["2:9: unknown value `DT_FLOAT9` for `dtype` of TensorProto"]);
}

#[test]
fn strings() {
    check(r#"string_val: "a" 'b' string_val: 'say "hi"'"#, r#"string_val: "ab" string_val: "say \"hi\"""#);
    check("string_val: 'a' # more follows\n\n \"b\"\n'c'", r#"string_val: "abc""#);
    check(r#"string_val: """#, r#"string_val: """#);
    check(r"string_val: '\a\b\f\n\r\t\v\\\'\?'", r#"string_val: "\x07\x08\x0c\n\r\t\x0b\\\'?""#);
    check(r"string_val: '\0\12\123\1234\377\x4\x41\x414\X42'", r#"string_val: "\x00\nSS4\xff\x04AA4B""#);
    check(r"string_val: '\u00e4\U0001F600\ud83d\ude00'", {
        r#"string_val: "\xc3\xa4\xf0\x9f\x98\x80\xf0\x9f\x98\x80""#
    });
    check("string_val: 'ä#{}[]<>'", r#"string_val: "\xc3\xa4#{}[]<>""#);
    let long = "x".repeat(300);
    check(&format!("string_val: '{long}\\n{long}'"), &format!("string_val: \"{long}\\n{long}\""));
    check_error("string_val: abc", "2:13: expected a string after `string_val:`, found `abc`");
    check_error("string_val: }", "2:13: expected a value after `string_val:`, found `}`");
    check_error("string_val: 'ab\ncd'", "2:16: expected `'` to close the string, found the end of the line");
    check_error("string_val: \"ab", "2:16: expected `\"` to close the string, found the end of the file");
    check_error(r"string_val: '\q'", r"2:14: expected an escape such as `\n`, found `\q`");
    check_error(r"string_val: '\xg'", r"2:14: expected a hex digit after `\x`");
    check_error(r"string_val: '\u12'", r"2:14: expected the digits of a character after `\u`");
    check_error(r"string_val: '\ud83d.'", r"2:14: expected the digits of a character after `\u`");
    check_error("string_val: '\\", "2:15: expected an escape after `\\`, found the end of the file");
}

#[test]
fn lists() {
    check("int_val: [1, -2, 0x3]", "int_val: 1 int_val: -2 int_val: 3");
    check("int_val: [] string_val: ['a' 'b', 'c'] int_val: 7", r#"int_val: 7 string_val: "ab" string_val: "c""#);
    check(
        "tensor_shape { dim: [{ size: 1 }, < size: 2 >] dim [{}] dim: [] }",
        "tensor_shape {dim {size: 1} dim {size: 2} dim {}}",
    );
    check_error("int_val: [1, ]", "2:14: expected a value after `int_val:`, found `]`");
    check_error("int_val: [1 2]", "2:13: expected `,` or `]` in the list of `int_val`, found `2`");
    check_error("dtype: [1]", "2:8: expected a value after `dtype:`, found `[`");
    check_error("tensor_shape { dim: [{} {}] }", "2:25: expected `,` or `]` in the list of `dim`, found `{`");
    check_error("tensor_shape { dim: [{}, ] }", "2:26: expected `{` after `dim`, found `]`");
    check_error("tensor_shape [{}]", "2:14: expected `{` after `tensor_shape`, found `[`");
}

#[test]
fn a_list_of_taken_messages_gives_one_record_for_each() {
    let log = read_graph("node: [{name: 'a'}, {name: 'b'}] library { function: [{}, {node_def {}}] }");
    assert_eq!(log.error, None);
    assert_eq!(
        log.records,
        [
            r#"1 {name: "a"}"#,
            r#"1 {name: "b"}"#,
            "open 2",
            "open 21",
            "close 21",
            "open 21",
            "213 {}",
            "close 21",
            "close 2"
        ]
    );
    assert_eq!(log.offsets, [7, 20, 33, 54, 58, 59]);
}

#[test]
fn messages() {
    check("tensor_shape { dim < size: 1 > dim: { size: 2 } }", "tensor_shape {dim {size: 1} dim {size: 2}}");
    check("tensor_shape{}dtype:DT_INT32", "dtype: 3 tensor_shape {}");
    check("int_val:1,int_val:2;int_val:3 , int_val:4 ;", "int_val: 1 int_val: 2 int_val: 3 int_val: 4");
    check("# all\nint_val # of\n : # it\n 1 # is\n # a comment\n", "int_val: 1");
    check_error("int_val: 1,, int_val: 2", "2:12: expected a field name or `}`, found `,`");
    check_error("int_val 1", "2:9: expected `:` after `int_val`, found `1`");
    check_error("tensor_shape: 1", "2:15: expected `{` after `tensor_shape`, found `1`");
    check_error("tensor_shape { >", "2:16: expected a field name or `}`, found `>`");
    check_error("tensor_shape: }", "2:15: expected `{` after `tensor_shape`, found `}`");
    check_error("tensor_shape", "2:13: expected `{` after `tensor_shape`, found the end of the file");
    check_error("} }", "2:3: expected a field name, found `}`");
    check_error("\x01", "2:1: expected a field name or `}`, found `\\u{1}`");
}

#[test]
fn zero_is_written_if_it_was_written() {
    assert_eq!(read_attr("i: 0 f: 0").records, ["3 Varint(0)", "4 Fixed32(0)"]);
    assert_eq!(read_attr("i: 0 i: 7 s: ''").records, ["3 Varint(0)", "3 Varint(7)", "2 \"\""]);
    check_graph("node { attr { key: '' value { b: false } } }", &[r#"1 {attr {key: "" value {b: 0}}}"#]);
}

#[test]
fn a_byte_order_mark_is_passed_over() {
    assert_eq!(read_graph("\u{feff}node {}").offsets, [3]);
    assert_eq!(read_graph("").records, [""; 0]);
    assert_eq!(read_graph(" # nothing").error, None);
}

#[test]
fn fields_outside_the_layout_are_skipped() {
    let text = r#"
        debug_info { files: ["}", '\'}', "\"" ] traces { key: "{" value < > } # }
        }
        library { gradient {} function { signature { name: "f" } node_def { name: "g" } ret { key: 'a' } } }
        version: 3
    "#;
    check_graph(text, &["open 2", "22 {}", "open 21", r#"213 {name: "g"}"#, "close 21", "close 2", "3 Varint(3)"]);
    check_graph("library { function { attr: [{}, {}] attr: {} } }", &["open 2", "open 21", "close 21", "close 2"]);
    let tensor = schema::message("tensorflow.TensorProto").unwrap();
    let text = "int_val: - 5 float_val: 1e-5, double_val: -.5; string_val: 'a' \"b\" dtype: DT_FLOAT int_val: [1, 2]";
    assert_eq!(read(&mut text.as_bytes(), tensor, &NOTHING), Log::default());
    let error = |text: &str| read(&mut text.as_bytes(), tensor, &NOTHING).error.unwrap();
    assert_eq!(error("int_val 5"), "1:9: expected `:` or `{` after `int_val`, found `5`");
    assert_eq!(error("int_val: }"), "1:10: expected a value after `int_val:`, found `}`");
    assert_eq!(error("tensor_shape { dim > }"), "1:20: expected `}` within `tensor_shape`, found `>`");
    assert_eq!(
        error("\ntensor_shape {\n dim { 'a' "),
        "3:12: expected `}` to close `tensor_shape`, which was opened at 2:14, found the end of the file"
    );
}

#[test]
fn unknown_names_are_reported_once_each() {
    let text = "node {\n new { a: '}' } new: 5 [a.b/C-d]: { x: 1 } 15: 3 name: 'n' }\nnew: [1]\n";
    let log = read_graph(text);
    assert_eq!(log.error, None);
    assert_eq!(log.records, [r#"1 {name: "n"}"#]);
    assert_eq!(
        log.warnings,
        [
            "2:2: unknown field `new` in NodeDef",
            "2:24: unknown field `[a.b/C-d]` in NodeDef",
            "2:44: unknown field `15` in NodeDef",
            "3:1: unknown field `new` in GraphDef",
        ]
    );
    assert_eq!(
        read_graph("[a").error.as_deref(),
        Some("1:3: expected `]` after the name of an extension, found the end of the file")
    );
}

#[test]
fn not_all_unknown_names_are_reported() {
    let text = (0..100).map(|i| format!("new{i}: 1")).collect::<Vec<_>>().join(" ");
    let warnings = read_graph(text).warnings;
    assert_eq!(warnings.len(), 21);
    assert!(warnings[20].ends_with("more unknown names follow that are not listed"));
}

#[test]
fn the_content_of_an_any_is_passed_over() {
    static ANY: Layout = Layout { fields: &[(4, Rule::Take(0))] };
    let text = "collection_def { key: 'a' value { any_list { value { [type.googleapis.com/tensorflow.VariableDef] { x: 1 } } } } }";
    let log = read(&mut text.as_bytes(), &schema::META_GRAPH_DEF, &ANY);
    assert_eq!(log.error, None);
    assert_eq!(log.warnings, ["1:54: unknown field `[type.googleapis.com/tensorflow.VariableDef]` in Any"]);
}

#[test]
fn a_cut_file_is_read_up_to_the_cut() {
    let log = read_graph("node { name: 'a' }\nnode {\n  name: 'b'\n  attr {\n    key: 'k' value { s: 'x");
    assert_eq!(log.records, [r#"1 {name: "a"}"#, r#"1 {name: "b" attr {key: "k" value {}}} (cut)"#]);
    assert_eq!(log.error.as_deref(), Some("5:27: expected `'` to close the string, found the end of the file"));
    let log = read_graph("library {\n function {\n  node_def { op: 'x' attr {} # cut");
    assert_eq!(log.records, ["open 2", "open 21", r#"213 {op: "x" attr {}} (cut)"#, "close 21", "close 2"]);
    let error = "3:35: expected `}` to close `node_def`, which was opened at 3:12, found the end of the file";
    assert_eq!(log.error.as_deref(), Some(error));
    assert_eq!(read_attr("s: 'half").records, ["2 \"half\" (cut)"]);
}

#[test]
fn an_unclosed_message_is_named_by_its_place_even_if_that_has_left_the_window() {
    let text = format!("\n\nlibrary {{\n function {{ # {}\n", "long\n  #".repeat(100_000));
    let error = read_graph(text).error.unwrap();
    assert!(error.ends_with("to close `function`, which was opened at 4:11, found the end of the file"), "{error}");
}

#[test]
fn depth_costs_neither_the_stack_nor_quadratic_time() {
    static NODE: Layout = Layout { fields: &[(7, Rule::Take(0))] };
    const DEPTH: usize = 1_000_000;
    let nested = "experimental_type {".to_owned() + &"args {".repeat(DEPTH) + &"}".repeat(DEPTH) + "}";
    let log = read(&mut nested.as_bytes(), &schema::NODE_DEF, &NODE);
    assert_eq!((log.error, log.records.len()), (None, 1));
    let log = read(&mut nested.as_bytes(), &schema::NODE_DEF, &NOTHING);
    assert_eq!(log, Log::default());
    // Cut in the middle: all that is open is closed.
    let cut = &nested[..nested.len() / 2];
    let log = read(&mut cut.as_bytes(), &schema::NODE_DEF, &NODE);
    assert!(log.error.is_some() && log.records.len() == 1);
}

#[test]
fn a_long_length_in_a_shallow_message_moves_its_content() {
    let long = "y".repeat(100_000);
    let text = format!("node {{ attr {{ key: 'k' value {{ list {{ s: '{long}' s: 'end' }} }} }} name: 'n' }}");
    let expected = format!(r#"1 {{name: "n" attr {{key: "k" value {{list {{s: "{long}" s: "end"}}}}}}}}"#);
    check_graph(&text, &[&expected]);
}

#[test]
fn a_sink_that_breaks_off_ends_the_reading() {
    use tfprof_proto::stream::{Record, Sink, Spot, Tag};
    struct Once(u32);
    impl Sink for Once {
        fn take(&mut self, _: Tag, _: Record<'_>) -> std::ops::ControlFlow<()> {
            self.0 += 1;
            std::ops::ControlFlow::Break(())
        }
        fn warn(&mut self, _: Spot, _: String) {}
    }
    let mut sink = Once(0);
    let outcome =
        tfprof_proto::text::read(&mut &b"node {} node {} !"[..], &schema::GRAPH_DEF, &crate::support::GRAPH, &mut sink);
    assert!(matches!(outcome, Ok(false)));
    assert_eq!(sink.0, 1);
}
