//! The public API, as far as the sources say it: for each name that `lib.rs` re-exports, its kind, traits, public fields
//! or variants, and public methods. The listing is committed, so that a change of the API is a change in a review.
//!
//! `internal` and anything marked `#[doc(hidden)]` is left out.

use crate::sources::rust_files;
use quote::ToTokens;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;
use syn::{Attribute, Fields, ImplItem, Item, ItemImpl, Type, UseTree, Visibility};

const LISTING: &str = "public-api.txt";

#[test]
fn the_public_api_is_listed() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let listing = Sources::read(&root.join("src")).listing();
    let path = root.join(LISTING);
    if std::env::var_os("TFPROF_UPDATE_API").is_some() {
        std::fs::write(&path, listing).expect("a listing that can be written");
        return;
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    let changes = changes(&committed, &listing);
    assert!(
        changes.is_empty(),
        "the public API differs from crates/tfprof/{LISTING}:\n{changes}\n\
         If the change is meant, run TFPROF_UPDATE_API=1 cargo test --workspace --test library public_api and commit the file."
    );
}

/// The lines that only one of the two listings has, each below the item that it belongs to.
fn changes(before: &str, after: &str) -> String {
    let lines = |text: &str| -> BTreeSet<(String, String)> {
        let mut item = String::new();
        let with_item = |line: &str| {
            if !line.starts_with(' ') {
                line.clone_into(&mut item);
            }
            (item.clone(), line.to_owned())
        };
        text.lines().map(with_item).collect()
    };
    let (before, after) = (lines(before), lines(after));
    let mut text = String::new();
    for (item, line) in before.symmetric_difference(&after) {
        let sign = if after.contains(&(item.clone(), line.clone())) { '+' } else { '-' };
        let _ = writeln!(text, "{sign} {line}{}", if item == line { String::new() } else { format!("   in {item}") });
    }
    text
}

type Module = Vec<String>;

/// All modules of the crate. The root has an empty path.
struct Sources {
    modules: BTreeMap<Module, Vec<Item>>,
}

/// A name that a `use` brings into a module; `name` is `*` for everything.
struct Import {
    is_public: bool,
    path: Vec<String>,
    name: String,
}

impl Sources {
    fn read(root: &Path) -> Sources {
        let mut sources = Sources { modules: BTreeMap::new() };
        for path in rust_files(root) {
            let file = syn::parse_file(&std::fs::read_to_string(&path).expect("a source file"))
                .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            let name = path.strip_prefix(root).expect("a file below the root").with_extension("");
            let mut module: Module = name.iter().map(|part| part.to_string_lossy().into_owned()).collect();
            module.pop_if(|last| last == "mod" || last == "lib");
            sources.add(module, file.items);
        }
        sources
    }

    /// Adds a module and the modules that are written within it.
    fn add(&mut self, module: Module, items: Vec<Item>) {
        for item in &items {
            if let Item::Mod(inner) = item
                && let Some((_, items)) = &inner.content
            {
                let path = [module.as_slice(), &[inner.ident.to_string()]].concat();
                self.add(path, items.clone());
            }
        }
        self.modules.insert(module, items);
    }

    fn listing(&self) -> String {
        let mut text = String::new();
        self.list_module(&[], &mut text);
        for item in &self.modules[&Module::new()] {
            if let Item::Mod(item) = item
                && is_public(&item.vis)
                && !is_hidden(&item.attrs)
            {
                let _ = writeln!(text, "\nmod {}", item.ident);
                self.list_module(&[item.ident.to_string()], &mut text);
            }
        }
        text
    }

    /// Writes all names that a module re-exports.
    fn list_module(&self, module: &[String], text: &mut String) {
        let mut names: Vec<_> = self.imports(module).into_iter().filter(|import| import.is_public).collect();
        names.sort_by(|a, b| a.name.cmp(&b.name));
        for import in &names {
            match self.resolve(module, &import.name) {
                Some((module, name)) => self.describe(&module, &name, &import.name, text),
                None => {
                    let _ = writeln!(text, "use {}", import.path.join("::"));
                }
            }
        }
    }

    fn imports(&self, module: &[String]) -> Vec<Import> {
        let mut imports = Vec::new();
        for item in self.modules.get(module).into_iter().flatten() {
            if let Item::Use(item) = item {
                collect(&item.tree, &mut Vec::new(), is_public(&item.vis), &mut imports);
            }
        }
        imports
    }

    /// The module that defines a name which is visible in a module, and the name there.
    fn resolve(&self, module: &[String], name: &str) -> Option<(Module, String)> {
        if self.defines(module, name) {
            return Some((module.to_vec(), name.to_owned()));
        }
        self.imports(module).iter().filter(|import| import.name == name || import.name == "*").find_map(|import| {
            let mut path = self.absolute(module, &import.path)?;
            let name = if import.name == "*" { name.to_owned() } else { path.pop()? };
            if path == module { None } else { self.resolve(&path, &name) }
        })
    }

    /// A path as seen from a module, from the root on; none for a path into another crate.
    fn absolute(&self, module: &[String], path: &[String]) -> Option<Vec<String>> {
        let (first, rest) = path.split_first()?;
        let mut base = match first.as_str() {
            "crate" => Vec::new(),
            "self" => module.to_vec(),
            "super" => module[..module.len().checked_sub(1)?].to_vec(),
            _ => {
                let mut child = module.to_vec();
                child.push(first.clone());
                if !self.modules.contains_key(&child) {
                    return None;
                }
                child
            }
        };
        for part in rest {
            if part == "super" {
                base.pop();
            } else {
                base.push(part.clone());
            }
        }
        Some(base)
    }

    fn defines(&self, module: &[String], name: &str) -> bool {
        self.item(module, name).is_some() || self.made_by_macro(module, name).is_some()
    }

    fn item(&self, module: &[String], name: &str) -> Option<&Item> {
        self.modules.get(module)?.iter().find(|item| match item {
            Item::Const(item) => item.ident == name,
            Item::Enum(item) => item.ident == name,
            Item::Fn(item) => item.sig.ident == name,
            Item::Static(item) => item.ident == name,
            Item::Struct(item) => item.ident == name,
            Item::Trait(item) => item.ident == name,
            Item::Type(item) => item.ident == name,
            _ => false,
        })
    }

    /// The declaration of an item in the rules of a macro, and the name of the macro.
    fn made_by_macro(&self, module: &[String], name: &str) -> Option<(String, String)> {
        self.modules.get(module)?.iter().find_map(|item| {
            let Item::Macro(rules) = item else { return None };
            let (of, tokens) = (rules.ident.as_ref()?.to_string(), rules.mac.tokens.to_string());
            let kinds = ["pub enum", "pub struct", "pub const", "pub static"];
            let start = kinds.iter().find_map(|kind| tokens.find(&format!("{kind} {name} ")))?;
            let end = tokens[start..].find(['{', '=']).map_or(tokens.len(), |at| start + at);
            Some((tidy(&tokens[start + "pub ".len()..end]), of))
        })
    }

    /// Writes an item and what belongs to it.
    fn describe(&self, module: &[String], name: &str, public_name: &str, text: &mut String) {
        let methods = self.methods(module, name);
        let mut traits = self.traits(module, name);
        let mut members = Vec::new();
        let mut attrs: &[Attribute] = &[];
        let head = match self.item(module, name) {
            Some(Item::Struct(item)) => {
                attrs = &item.attrs;
                add_fields(&item.fields, &mut members);
                format!("struct {public_name}{}", tidy(&item.generics.to_token_stream().to_string()))
            }
            Some(Item::Enum(item)) => {
                attrs = &item.attrs;
                members.extend(item.variants.iter().map(|variant| {
                    let mut variant = variant.clone();
                    strip_docs(&mut variant.attrs);
                    variant.fields.iter_mut().for_each(|field| strip_docs(&mut field.attrs));
                    tidy(&variant.to_token_stream().to_string())
                }));
                format!("enum {public_name}{}", tidy(&item.generics.to_token_stream().to_string()))
            }
            Some(Item::Const(item)) => format!("const {public_name}: {}", shown(&item.ty)),
            Some(Item::Static(item)) => format!("static {public_name}: {}", shown(&item.ty)),
            Some(Item::Type(item)) => {
                let generics = tidy(&item.generics.to_token_stream().to_string());
                format!("type {public_name}{generics} = {}", shown(&item.ty))
            }
            Some(Item::Fn(item)) => shown(&item.sig),
            _ => {
                let (head, made_by) = self.made_by_macro(module, name).expect("an item of a kind that is listed");
                if head.starts_with("enum") {
                    members = self.rows_of_macro(module, &made_by);
                }
                head
            }
        };
        let growing = if attrs.iter().any(|attr| attr.path().is_ident("non_exhaustive")) { " (may grow)" } else { "" };
        traits.extend(derived(attrs));
        let _ = writeln!(text, "{head}{growing}");
        if !traits.is_empty() {
            let _ = writeln!(text, "    is {}", traits.into_iter().collect::<Vec<_>>().join(", "));
        }
        for member in members.into_iter().chain(methods) {
            let _ = writeln!(text, "    {member}");
        }
    }

    /// The rows `Name(...) { ... }` that a macro is called with: one variant each.
    fn rows_of_macro(&self, module: &[String], made_by: &str) -> Vec<String> {
        let mut rows = Vec::new();
        for item in self.modules.get(module).into_iter().flatten() {
            let Item::Macro(call) = item else { continue };
            if call.ident.is_none() && call.mac.path.is_ident(made_by) {
                let tokens: Vec<String> = call.mac.tokens.clone().into_iter().map(|token| token.to_string()).collect();
                let is_row = |pair: &&[String]| pair[1].starts_with('(') && pair[0].starts_with(char::is_uppercase);
                rows.extend(tokens.windows(2).filter(is_row).map(|pair| pair[0].clone()));
            }
        }
        rows
    }

    /// The `impl` blocks of a type.
    fn impls<'s>(&'s self, module: &'s [String], name: &'s str) -> impl Iterator<Item = &'s ItemImpl> {
        self.modules.iter().flat_map(move |(at, items)| {
            items.iter().filter_map(move |item| {
                let Item::Impl(item) = item else { return None };
                let Type::Path(path) = &*item.self_ty else { return None };
                let ident = path.path.segments.last()?.ident.to_string();
                (self.resolve(at, &ident)? == (module.to_vec(), name.to_owned())).then_some(item)
            })
        })
    }

    fn methods(&self, module: &[String], name: &str) -> Vec<String> {
        let mut methods = Vec::new();
        for item in self.impls(module, name).filter(|item| item.trait_.is_none()).flat_map(|block| &block.items) {
            match item {
                ImplItem::Fn(item) if is_public(&item.vis) && !is_hidden(&item.attrs) => methods.push(shown(&item.sig)),
                ImplItem::Const(item) if is_public(&item.vis) && !is_hidden(&item.attrs) => {
                    methods.push(format!("const {}: {}", item.ident, shown(&item.ty)));
                }
                _ => {}
            }
        }
        methods.sort();
        methods
    }

    fn traits(&self, module: &[String], name: &str) -> BTreeSet<String> {
        self.impls(module, name)
            .filter_map(|block| block.trait_.as_ref())
            .filter_map(|(path, _)| path.segments.last())
            .map(shown)
            .collect()
    }
}

fn collect(tree: &UseTree, path: &mut Vec<String>, is_public: bool, imports: &mut Vec<Import>) {
    let mut add = |last: String, name: String| {
        let mut path = path.clone();
        match last.as_str() {
            "self" | "*" => {}
            _ => path.push(last),
        }
        imports.push(Import { is_public, path, name });
    };
    match tree {
        UseTree::Path(tree) => {
            path.push(tree.ident.to_string());
            collect(&tree.tree, path, is_public, imports);
            path.pop();
        }
        UseTree::Name(tree) if tree.ident == "self" => add("self".to_owned(), path.last().cloned().unwrap_or_default()),
        UseTree::Name(tree) => add(tree.ident.to_string(), tree.ident.to_string()),
        UseTree::Rename(tree) => add(tree.ident.to_string(), tree.rename.to_string()),
        UseTree::Glob(_) => add("*".to_owned(), "*".to_owned()),
        UseTree::Group(group) => group.items.iter().for_each(|tree| collect(tree, path, is_public, imports)),
    }
}

fn add_fields(fields: &Fields, members: &mut Vec<String>) {
    let is_listed = |field: &&syn::Field| is_public(&field.vis) && !is_hidden(&field.attrs);
    for (number, field) in fields.iter().enumerate().filter(|(_, field)| is_listed(field)) {
        let name = field.ident.as_ref().map_or_else(|| number.to_string(), ToString::to_string);
        members.push(format!("{name}: {}", shown(&field.ty)));
    }
}

fn derived(attrs: &[Attribute]) -> Vec<String> {
    let mut names = Vec::new();
    for attr in attrs.iter().filter(|attr| attr.path().is_ident("derive")) {
        let _ = attr.parse_nested_meta(|meta| {
            names.push(shown(&meta.path));
            Ok(())
        });
    }
    names
}

fn is_public(visibility: &Visibility) -> bool {
    matches!(visibility, Visibility::Public(_))
}

fn is_hidden(attrs: &[Attribute]) -> bool {
    attrs.iter().any(|attr| shown(&attr.meta) == "doc(hidden)")
}

fn strip_docs(attrs: &mut Vec<Attribute>) {
    attrs.retain(|attr| !attr.path().is_ident("doc") && !attr.path().is_ident("default"));
}

fn shown(tokens: &impl ToTokens) -> String {
    tidy(&tokens.to_token_stream().to_string())
}

/// Tokens without the spaces that `quote` puts between all of them.
fn tidy(tokens: &str) -> String {
    let mut text = tokens.split_whitespace().collect::<Vec<_>>().join(" ");
    let spaces = [
        (" :: ", "::"),
        (" : ", ": "),
        (" ,", ","),
        ("& ", "&"),
        (" < ", "<"),
        ("< ", "<"),
        (" <", "<"),
        (" >", ">"),
        (" (", "("),
        ("( ", "("),
        (" )", ")"),
        ("[ ", "["),
        (" ]", "]"),
        (" ;", ";"),
        (",>", ">"),
        (",)", ")"),
        ("->(", "-> ("),
        (">{", "> {"),
        ("&mut(", "&mut ("),
        ("=(", "= ("),
    ];
    for (from, to) in spaces {
        text = text.replace(from, to);
    }
    text
}
