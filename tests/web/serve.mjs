// Starts `tfprof web` for the tests of all browsers.

import { spawn } from "node:child_process";

/** Starts `tfprof web` and waits for the address that it prints, so many milliseconds at most. */
export function serve(tfprof, words, cwd, patience = 60_000) {
  const child = spawn(tfprof, ["web", ...words, "--no_open"], { cwd, stdio: ["ignore", "pipe", "pipe"] });
  return new Promise((done, fail) => {
    let text = "";
    const read = (chunk) => {
      text += chunk;
      const url = /http:\/\/127\.0\.0\.1:\d+\/\S*/.exec(text)?.[0];
      if (url) done({ url, pid: child.pid, stop: () => child.kill("SIGINT") });
    };
    child.stdout.on("data", read);
    child.stderr.on("data", read);
    child.on("exit", (code) => fail(new Error(`tfprof web ${words.join(" ")} ended with ${code}: ${text}`)));
    setTimeout(() => fail(new Error(`tfprof web ${words.join(" ")} printed no address: ${text}`)), patience).unref();
  });
}
