"""The names of `tf.contrib.tfprof.tfprof_logger`."""

from tfprof._api import merge_default_with_oplog, write_op_log

__all__ = ["merge_default_with_oplog", "write_op_log"]
