//! Types that we or TensorFlow's Python layer attach to nodes, beside their op: users select by them
//! (`-account_type_regexes _trainable_variables`).

/// Variables that training changes; an op log attaches it, or we do.
pub const TRAINABLE: &str = "_trainable_variables";

/// Variables that the loaded checkpoint has.
pub const IN_CHECKPOINT: &str = "_checkpoint_variables";

/// Variables that hold the state of an optimizer. They are not parameters.
pub const OPTIMIZER_SLOT: &str = "_optimizer_slots";

/// A second handle of a variable that already has one.
pub const SAME_VARIABLE: &str = "_same_variables";

/// Variables that hold the state of a random number generator. They are not parameters.
pub const GENERATOR_STATE: &str = "_generator_states";

/// Constants that count as parameters.
pub const CONST_PARAMETER: &str = "_const_params";
