// Colours for a line of Python: enough to read by, one line at a time.

export type Piece = [kind: "" | "k" | "st" | "co" | "nu" | "fc", text: string];

const KEYWORDS = new Set("and as assert async await break class continue def del elif else except finally for from global if import in is lambda nonlocal not or pass raise return try while with yield None True False self match case".split(" "));
const TOKEN = /(#.*$)|([rbuf]{0,2}("""|'''|"|').*?(?:\3|$))|(\b\d[\d_.]*(?:e[+-]?\d+)?j?\b)|([A-Za-z_]\w*)(\s*\()?|([^#"'\w]+|.)/gi;

export function python(line: string): Piece[] {
  if (line.length > 400) return [["", line]];
  const pieces: Piece[] = [];
  for (const [, comment, string, , number, word, call, rest] of line.matchAll(TOKEN)) {
    if (comment) pieces.push(["co", comment]);
    else if (string) pieces.push(["st", string]);
    else if (number) pieces.push(["nu", number]);
    else if (word) {
      pieces.push([KEYWORDS.has(word) ? "k" : call ? "fc" : "", word]);
      if (call) pieces.push(["", call]);
    } else if (rest) pieces.push(["", rest]);
  }
  return pieces;
}
