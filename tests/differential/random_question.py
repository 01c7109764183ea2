"""A random question about a model: the command, its inputs and options; now and then an invalid one."""

import re

import oracle
from casekit import ALL, CHECKERS, METRICS, ORDERS, SELECTS, metas
from survey import ROOT, Survey
from vocabulary import INT64_MAX, chance

# fmt: off
KINDS = {  # kind: weight
    'scope': 20, 'graph': 16, 'op': 18, 'code': 18, 'scope_timeline': 4,
    'graph_timeline': 7, 'code_timeline': 4, 'pprof': 6, 'serialize': 3, 'advise': 4,
    'chrome': 6, 'refused': 1,
}
CODE_KINDS = ('code', 'code_timeline', 'pprof')
# fmt: on
BAD_REGEXES = ["(unclosed", "*x", "[z-a]", "a{2,1}", "back\\", "(?<n", "x)"]


def escape(text):
    return re.sub(r"([\\.+*?()\[\]{}|^$])", r"\\\1", text)


def pattern(rng, names, narrow=False):
    """A regex that has to do with the names, or now and then one that has not."""
    name = rng.choice(names) if names else "a"
    other = rng.choice(names) if names else "b"
    if chance(rng, 0.05 if narrow else 0.2):
        return rng.choice(
            [
                "[^/]*",
                "[^/]+/[^/]+",
                ".*[0-9]+",
                "[a-m].*",
                ".+",
                ".*?",
                "(.*)",
                ".",
                "",
                "\\w+",
                "\\pL+",
                "[[:alpha:]_/]+",
                ".*\\d",
                "(?s).*",
                "[^_].*",
                ".*_grad.*",
                ".*gpu.*",
                ".*cpu:0",
                "no_such_name",
                ".*\\b%s\\b.*" % escape(name[:1]),
                escape(name[:-1]),
            ]
        )
    i, j = sorted((rng.randint(0, len(name)), rng.randint(0, len(name))))
    if narrow:
        i, j = len(name) * 2 // 3, len(name) // 3
        if chance(rng, 0.5):
            return escape(name)
    return rng.choice(
        [
            escape(name),
            escape(name),
            escape(name),
            escape(name[: i + 1]) + ".*",
            escape(name[: i + 1]) + ".*",
            ".*" + escape(name[j:]),
            ".*%s.*" % escape(name[i:j]),
            escape(name.rsplit("/", 1)[0]) + "/.*",
            escape(name.split("/")[0]) + ".*",
            "%s|%s" % (escape(name), escape(other)),
            "(%s|%s).*" % (escape(name[:2]), escape(other)),
            "^%s$" % escape(name),
            "(?i)" + escape(name.upper()),
            "\\Q%s\\E" % name,
            ".*/%s" % escape(name.rsplit("/", 1)[-1]),
        ]
    )


class Question:
    """Draws one question: kind, inputs, options, and why it is rude if it is."""

    def __init__(self, rng, kinds, model, survey):
        self.rng, self.model, self.survey = rng, model, survey
        self.rude = []
        self.kind = self._kind(kinds)
        self.cmd = {"pprof": "code", "refused": rng.choice(["scope", "graph", "op"])}.get(
            self.kind, self.kind.split("_")[0]
        )
        self.api, self.inputs, self.steps = self._inputs()
        if self.cmd in oracle.VIEWS:
            self.options = self._view_options()
        elif self.cmd == "advise":
            self.options = {k: {} for k in CHECKERS if chance(rng, 0.7)}
            if chance(rng, 0.05):
                self.options["NoSuchChecker"] = {}
                self._rude("checker")
        elif self.cmd == "chrome":
            self.options = {"show_dataflow": chance(rng, 0.7), "show_memory": chance(rng, 0.5)}
            if chance(rng, 0.4):
                self.options["op_time"] = rng.choice(["gpu", "all", "schedule"])
        else:
            self.options = {}

    def _rude(self, why):
        self.rude.append(why)

    def _kind(self, kinds):
        """Keeps away from what the model cannot answer, most of the time."""
        rng, survey = self.rng, self.survey
        drawn = rng.choices(list(kinds), [KINDS[k] for k in kinds])[0]
        avoid = set()
        if not survey.has_code:
            avoid |= set(CODE_KINDS)
        if survey.code_dies:
            avoid.add("advise")
        if survey.profile is None:
            avoid.add("serialize")
        if not self.model.runs:
            avoid |= {"chrome", "scope_timeline", "graph_timeline", "code_timeline"}
        rest = [k for k in kinds if k not in avoid]
        if drawn in avoid and rest and (drawn == "chrome" or chance(rng, 0.8)):
            drawn = rng.choices(rest, [KINDS[k] for k in rest])[0]
        return drawn

    def _inputs(self):
        """(api, inputs of casekit.Cases.add, the steps there will be)."""
        rng, model = self.rng, self.model
        runs = [(s, f) for s, f, _ in model.runs]
        real = {f for _, f, m in model.runs if m.HasField("step_stats")}
        if self.kind == "chrome":
            return None, {"run_meta": metas(rng.choice(runs)) if runs else []}, []
        api = rng.choices(["one_shot", "multi_step", "from_profile"], [35, 45, 20])[0]
        if api == "from_profile" and self.survey.profile is None:
            api = "multi_step"
        if api == "one_shot" and self.cmd == "serialize":
            api = "multi_step"
        if api == "from_profile":
            return api, {"graph": None, "run_meta": [], "op_log": None, "profile": "profile.pb"}, self.survey.steps
        inputs = {}
        if chance(rng, 0.15):
            inputs["graph"] = "graph.pbtxt"
        if chance(rng, 0.03 if self.cmd == "code" else 0.1):
            inputs["op_log"] = None
        if api == "one_shot":
            use = [(0, rng.choice(runs)[1])] if runs and chance(rng, 0.85) else []
        else:
            use = list(runs)
            if chance(rng, 0.2):
                use = [r for r in runs if chance(rng, 0.6)]
            if chance(rng, 0.15):
                rng.shuffle(use)
        inputs["run_meta"] = metas(*use)
        return api, inputs, sorted({s for s, f in use if f in real})

    def _regexes(self, names, idle):
        """A regex list that does something; `idle` is the list that does nothing."""
        rng = self.rng
        narrow = not idle  # hide and trim: mostly one or two names
        if chance(rng, 0.05):
            return [] if idle else list(ALL)
        if chance(rng, 0.02):
            self._rude("regex")
            return [rng.choice(BAD_REGEXES), pattern(rng, names)]
        some = [pattern(rng, names, narrow) for _ in range(rng.choice([1, 1, 2] if narrow else [1, 1, 2, 2, 3, 4, 5]))]
        if chance(rng, 0.04):
            some.insert(rng.randrange(len(some) + 1), ".*")
        return some

    def _select(self):
        rng = self.rng
        if self.kind == "pprof":
            if chance(rng, 0.05):
                self._rude("select")
                return rng.choice([[], ["micros", "bytes"], ["device"], ["occurrence"]])
            return [rng.choice([m for m in METRICS if m != "occurrence"])]
        words = [w for w in SELECTS if w != "tensor_value"]
        if chance(rng, 0.03):
            words.append("tensor_value")
        if chance(rng, 0.5):
            some = rng.sample(words, rng.choice([0, 1, 1, 1, 2, 2, 3]))
        else:
            keep = rng.random()
            some = [w for w in words if chance(rng, keep)]
            rng.shuffle(some)
        if chance(rng, 0.01):
            self._rude("select")
            some.append("beauty")
        return some

    def _view_options(self):
        rng, survey, view = self.rng, self.survey, self.cmd
        names = survey.names[view]
        # Few filters at a time: with all of them hardly a row is left.
        filters = rng.sample(
            ["depth", "minimum", "account", "start", "trim", "show", "hide"],
            rng.choice([0, 1, 1, 2, 2, 3, 4] if self.kind in oracle.VIEWS else [0, 0, 1, 1, 2]),
        )
        options = {"max_depth": rng.choice([20, 100, 10000])}
        if "depth" in filters:
            options["max_depth"] = rng.choice([rng.randint(0, 20), rng.randint(2, 6)])
            if chance(rng, 0.03):
                options["max_depth"] = -1
                self._rude("depth")
            if view == "code" and options["max_depth"] < 1 and chance(rng, 0.8):
                options["max_depth"] = 1
        if "minimum" in filters:
            for key in rng.sample(sorted(Survey.FIELDS) + sorted(Survey.OWN), rng.choice([1, 1, 1, 2, 3])):
                options[key] = self._near(sorted(survey.values[view][key]))
        options["order_by"] = rng.choice(ORDERS)
        if chance(rng, 0.02):
            options["order_by"] = rng.choice(["", "beauty"])
            self._rude("order")
        for word, known, idle in (
            ("account_type", survey.types, ALL),
            ("start_name", names, ALL),
            ("trim_name", names, []),
            ("show_name", names, ALL),
            ("hide_name", names, []),
        ):
            options[word + "_regexes"] = self._regexes(known, idle) if word.split("_")[0] in filters else list(idle)
        if view == "code" and not chance(rng, 0.03):
            options["trim_name_regexes"] = [r for r in options["trim_name_regexes"] if not self._matches_root(r)]
        options["account_displayed_op_only"] = chance(rng, 0.35)
        options["select"] = self._select()
        options["step"] = -1
        if self.steps and chance(rng, 0.75 if self.kind == "graph_timeline" else 0.4):
            options["step"] = rng.choice(self.steps)
        elif chance(rng, 0.03):
            options["step"] = rng.choice([3, 4321])
            self._rude("step")
        options["output"] = "file"
        if self.kind.endswith("_timeline"):
            options["output"] = "timeline"
        elif self.kind == "pprof":
            options["output"] = "pprof"
        elif self.kind == "refused":
            options["output"] = rng.choice(["pprof", "timeline"]) if view == "op" else "pprof"
            self._rude("output")
        return options

    def _near(self, values):
        """A minimum at, or one off, one of the values; low ones more often."""
        rng = self.rng
        value = values[int(rng.random() ** 2 * len(values))] if values else 0
        value = min(value + rng.choice([-1, 0, 0, 0, 1]), INT64_MAX)
        if value < 0 and chance(rng, 0.6):
            value = 0
        if value < 0:
            self._rude("minimum")
        return value

    @staticmethod
    def _matches_root(regex):
        if "[[:" in regex:
            return True
        try:
            return re.fullmatch(regex.replace("\\pL", "\\w"), ROOT) is not None
        except re.error:
            return False
