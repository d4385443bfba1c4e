// The portal of an insurer: pages ask the services of contracts and claims over TLS.
//
//     node portal.js ADDRESS PORT SETTINGS ACCESS_LOG
//
// Settings are JSON and are read again when the file changes: services (address:port), authority (a file of
// certificates), calls (of a page), work (rounds of hashing of a page), client ("portal" or "page": what has one).
"use strict";
const crypto = require("crypto");
const fs = require("fs");
const http = require("http");
const https = require("https");

const [address, port, settingsFile, accessLog] = process.argv.slice(2);
const log = fs.createWriteStream(accessLog, { flags: "a" });
let settings = {};
let identity = {};
let shared = null;

function createClient() {
  return new https.Agent({ keepAlive: true, maxSockets: 64, ...identity });
}

function loadSettings() {
  settings = JSON.parse(fs.readFileSync(settingsFile, "utf8"));
  if (!shared) {
    identity = { ca: fs.readFileSync(settings.authority), checkServerIdentity: () => undefined };
    shared = createClient();
  }
}

function ask(agent, path) {
  const [host, servicePort] = settings.services.split(":");
  return new Promise((resolve, reject) => {
    const request = https.get({ host, port: servicePort, path, agent, timeout: 8000 }, (answer) => {
      let size = 0;
      answer.on("data", (part) => (size += part.length));
      answer.on("end", () => (answer.statusCode === 200 ? resolve(size) : reject(new Error(String(answer.statusCode)))));
    });
    request.on("timeout", () => request.destroy(new Error("no answer")));
    request.on("error", reject);
  });
}

async function buildPage(kind, n) {
  const sizes = [];
  if (kind !== "help") {
    for (let call = 0; call < settings.calls; call++) {
      const agent = settings.client === "page" ? createClient() : shared;
      sizes.push(await ask(agent, `/${kind}/${n}/${call}`));
      if (agent !== shared) agent.destroy();
    }
  }
  let text = `${kind} ${n} ${sizes}`;
  for (let i = 0; i < settings.work; i++) text = crypto.createHash("sha256").update(text).digest("hex");
  return text;
}

loadSettings();
fs.watchFile(settingsFile, { interval: 300 }, loadSettings);
http.createServer(async (request, response) => {
  const began = Date.now();
  const [, kind, n] = request.url.split("/");
  let status = 200, text;
  try {
    text = await buildPage(kind, Number(n));
  } catch (error) {
    [status, text] = [502, String(error)];
  }
  response.writeHead(status, { "Content-Type": "text/plain" });
  response.end(text);
  log.write(`${(began / 1000).toFixed(3)} ${request.method} ${request.url} ${status} ${Date.now() - began}\n`);
}).listen(Number(port), address, 1024);
