// The gateway of a shop: reviews that are checked by rules, feeds of articles, sign-in and pages.
//
//     node gateway.js ADDRESS PORT SETTINGS ACCESS_LOG
//
// Settings are JSON and are read again when the file changes: work (rounds of hashing of a page), rules (patterns that
// a review must not match), separator and mark (the long lines that some reviews have), feed (a file of articles), iterations (of the key derivation).
"use strict";
const crypto = require("crypto");
const fs = require("fs");
const http = require("http");
const zlib = require("zlib");

const [address, port, settingsFile, accessLog] = process.argv.slice(2);
const log = fs.createWriteStream(accessLog, { flags: "a" });
let settings = {};
let rules = [];

function loadSettings() {
  settings = JSON.parse(fs.readFileSync(settingsFile, "utf8"));
  rules = (settings.rules || []).map((text) => new RegExp(text));
}

function renderPage(n) {
  let text = `page ${n}`;
  for (let i = 0; i < settings.work; i++) text = crypto.createHash("sha256").update(text).digest("hex");
  return text;
}

// One review in twenty has a long separator, as word processors insert them.
function buildReview(n) {
  const words = Array.from({ length: 12 }, (_, i) => `word${(n * 7 + i) % 53}`).join(" ");
  return n % 20 === 0 ? `${words} ${settings.mark.repeat(settings.separator)} - ${n}` : `${words} ${n}`;
}

function checkReview(n) {
  const review = buildReview(n);
  return rules.some((rule) => rule.test(review)) ? "held" : "published";
}

function renderFeed(n) {
  const articles = JSON.parse(fs.readFileSync(settings.feed, "utf8"));
  const chosen = articles.filter((item) => item.group === n % 7).sort((a, b) => a.price - b.price);
  return String(chosen.length);
}

function exportArchive(n) {
  const text = fs.readFileSync(settings.feed);
  return String(zlib.gzipSync(text, { level: 9 }).length + n);
}

function signIn(n) {
  return crypto.pbkdf2Sync(`password ${n}`, "salt", settings.iterations, 32, "sha512").toString("hex");
}

const routes = {
  pages: renderPage,
  reviews: (n) => renderPage(n).slice(0, 8) + checkReview(n),
  feeds: renderFeed,
  archives: exportArchive,
  signin: signIn,
};

const server = http.createServer((request, response) => {
  const began = Date.now();
  const [, name, n] = request.url.split("/");
  const route = routes[name];
  const body = route ? route(Number(n)) : "";
  response.writeHead(route ? 200 : 404, { "Content-Length": Buffer.byteLength(body) });
  response.end(body);
  const status = route ? 200 : 404;
  log.write(`${(began / 1000).toFixed(3)} ${request.method} ${request.url} ${status} ${Date.now() - began}\n`);
});

loadSettings();
fs.watchFile(settingsFile, { interval: 300 }, loadSettings);
server.listen({ host: address, port: Number(port), backlog: 1024 });
