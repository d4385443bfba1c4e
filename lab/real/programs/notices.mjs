// Notices of a logistics company: /notices/N shows a notice from its file and where the parcel is, /events/N stores an
// event and reports it to the address that its customer registered, /health/N needs neither.
//
//     node notices.mjs ADDRESS PORT SETTINGS ACCESS_LOG
//
// Settings are JSON: directory (of the notices), notices (how many there are), customers (names of hosts with ports),
// tracking (name and port of a service), timeout_ms (of a request). They are read again when the file changes.
import { createHash } from "node:crypto";
import fs from "node:fs";
import http from "node:http";

const [address, port, settingsFile, accessLog] = process.argv.slice(2);
const log = fs.createWriteStream(accessLog, { flags: "a" });
let settings = JSON.parse(fs.readFileSync(settingsFile, "utf8"));
let stored = 0;

fs.watchFile(settingsFile, { interval: 300 }, () => {
  settings = JSON.parse(fs.readFileSync(settingsFile, "utf8"));
});

function ask(target, path) {
  const [host, targetPort] = target.split(":");
  return new Promise((resolve, reject) => {
    const request = http.get(
      { host, port: targetPort, path, agent: false, family: 4, timeout: settings.timeout_ms },
      (reply) => {
        let size = 0;
        reply.on("data", (part) => (size += part.length));
        reply.on("end", () => resolve(size));
      },
    );
    request.on("timeout", () => request.destroy(new Error("no answer")));
    request.on("error", reject);
  });
}

async function answer(kind, number) {
  const file = `${settings.directory}/notice-${number % settings.notices}.html`;
  if (kind === "notices") {
    const place = await ask(settings.tracking, `/parcels/${number}`);
    return `${await fs.promises.readFile(file, "utf8")}${place}`;
  }
  if (kind === "events") {
    stored += 1;
    await fs.promises.writeFile(`${settings.directory}/event-${number % 200}.json`, JSON.stringify({ number, stored }));
    ask(settings.customers[number % settings.customers.length], `/hooks/${number}`).catch(() => {});
    return `stored ${number}`;
  }
  return createHash("sha256").update(`health ${number}`).digest("hex");
}

http
  .createServer(async (request, response) => {
    const began = Date.now();
    const [, kind, number] = request.url.split("/");
    let status = 200, text;
    try {
      text = await answer(kind, Number(number));
    } catch (error) {
      [status, text] = [500, String(error)];
    }
    response.writeHead(status, { "Content-Type": "text/html", "Content-Length": Buffer.byteLength(text) });
    response.end(text);
    log.write(`${(began / 1000).toFixed(3)} ${request.method} ${request.url} ${status} ${Date.now() - began}\n`);
  })
  .listen(Number(port), address, 1024);
