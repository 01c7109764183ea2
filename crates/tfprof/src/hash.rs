//! The hash maps of this crate, by who chooses the keys.
//!
//! The author of a file chooses its names, shapes and ids, and could choose ones that collide: those keys are hashed
//! with a random seed. So are pairs of ids: we assign
//! the ids, but the file chooses which pairs occur. Single ids take a faster hash without a seed: they are dense.
//! Either way, no output depends on the order of a map.

use foldhash::fast::RandomState;
use rustc_hash::FxBuildHasher;
use std::collections::{HashMap, HashSet};

/// For keys from files.
pub type UntrustedMap<K, V> = HashMap<K, V, RandomState>;
pub type UntrustedSet<K> = HashSet<K, RandomState>;
pub type UntrustedState = RandomState;

/// For keys that we assign.
pub type TrustedMap<K, V> = HashMap<K, V, FxBuildHasher>;
pub type TrustedSet<K> = HashSet<K, FxBuildHasher>;
