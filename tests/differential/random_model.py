"""A random small model as files: a graph, the RunMetadata of some steps, and an op log."""

import os

from random_graph import RandomGraph
from random_run import RandomRun
from vocabulary import TRAITS, chance


class Model(RandomGraph, RandomRun):
    """A random GraphDef, its runs and its op log."""

    def __init__(self, rng, need_code=False):
        import tensorflow as tf
        from tensorflow.core.profiler import tfprof_log_pb2

        self.rng = rng
        self.tf1 = tf.compat.v1
        self.traits = {t for t, p in sorted(TRAITS.items()) if chance(rng, p)}
        if need_code:
            self.traits |= {"traces"}
            self.traits -= {"no_log", "empty_graph", "empty_traces", "unknown_ids"}
        self.graph = self.tf1.GraphDef()
        self.log = None if self.has("no_log") else tfprof_log_pb2.OpLogProto()
        self.names = self._names()
        self._graph()
        self.runs = []  # (step, file, RunMetadata)
        if not self.has("no_runs"):
            self._runs()
        if self.log is not None:
            self._log()

    def has(self, trait):
        return trait in self.traits

    def save(self, directory):
        from google.protobuf import text_format

        files = [("graph.pb", self.graph)] + [(f, m) for _, f, m in self.runs]
        if self.log is not None:
            files.append(("tfprof_log", self.log))
        for name, message in files:
            with open(os.path.join(directory, name), "wb") as f:
                f.write(message.SerializeToString(deterministic=True))
        with open(os.path.join(directory, "graph.pbtxt"), "w") as f:
            f.write(text_format.MessageToString(self.graph))
