// Statements that answer common questions; docs/sql.md explains them.

export interface Example { title: string; sql: string }

export const EXAMPLES: readonly Example[] = [
  { title: "Op types that take most time", sql: "select op, sum(runs) as runs, sum(self_ps) / 1e6 as micros\nfrom totals group by op order by micros desc limit 20" },
  {
    title: "Ops that are slow in the worst steps",
    sql: "with by_step as (\n  select name, step, sum(self_ps) / 1e6 as micros from totals where step is not null group by name, step),\nplaced as (\n  select name, micros, percent_rank() over (partition by name order by micros) as place from by_step)\nselect name, min(micros) filter (where place >= 0.5) as median, min(micros) filter (where place >= 0.9) as p90\nfrom placed group by name order by p90 desc limit 20",
  },
  {
    title: "Longest gaps between executions of a stream",
    sql: "with gaps as (\n  select host, line, op, start_ps, start_ps - max(start_ps + duration_ps) over (\n    partition by host, line order by start_ps rows between unbounded preceding and 1 preceding) as gap_ps\n  from executions)\nselect g.op, l.plane, l.line, gap_ps / 1e6 as gap_micros\nfrom gaps g join lines l on l.id = g.line and l.host = g.host\nwhere gap_ps > 0 order by gap_ps desc limit 20",
  },
  {
    title: "Scopes that hold the memory at the peak",
    sql: "with worst as (select step from memory where what = 'peak' order by in_use_bytes desc limit 1)\nselect substr(name, 1, instr(name || '/', '/') - 1) as scope, sum(peak_bytes) as bytes\nfrom totals where step = (select step from worst) group by scope order by bytes desc limit 20",
  },
  {
    title: "FLOP/s of each scope",
    sql: "select n.scope, sum(t.float_ops) as float_ops, sum(t.float_ops) * 1e12 / sum(t.self_ps) as flops_per_second\nfrom totals t join nodes n on n.id = t.node\nwhere t.float_ops > 0 and t.self_ps > 0 group by n.scope order by float_ops desc limit 20",
  },
  {
    title: "Hosts that are behind the fastest",
    sql: "with fastest as (select step, min(duration_ps) as ps from steps group by step)\nselect s.host, count(*) as steps, avg(s.duration_ps) / 1e6 as micros, max(s.duration_ps - f.ps) / 1e6 as most_behind\nfrom steps s join fastest f using (step) group by s.host order by micros desc",
  },
  { title: "What a step's time is spent on", sql: "select step, duration_ps / 1e6 as micros, host_ops_ps / 1e6 as host, compute_ps / 1e6 as compute, idle_ps / 1e6 as idle\nfrom steps order by step limit 100" },
  {
    title: "Large parameters, and how many ops read them",
    sql: "select v.name, v.shape, v.parameters, count(e.node) as readers\nfrom nodes v left join edges e on e.source = v.id\nwhere v.parameters > 0 group by v.id order by v.parameters desc limit 20",
  },
  {
    title: "Lines of Python that made the slow ops",
    sql: "with recursive up(node, stack) as (\n  select id, stack from nodes where stack is not null union all\n  select up.node, s.outer from up join stacks s on s.id = up.stack join frames f on f.id = s.frame\n  where f.file like '%/site-packages/%')\nselect f.file, f.line, f.function, sum(t.self_ps) / 1e6 as micros\nfrom up join stacks s on s.id = up.stack join frames f on f.id = s.frame join totals t on t.node = up.node\nwhere f.file not like '%/site-packages/%' group by f.id order by micros desc limit 20",
  },
  { title: "Nodes without a known cost, and why", sql: "select op, why, count(*) as nodes from costs where unknown > 0 group by op, why order by nodes desc" },
];
