// Offers of the shop: loads the list at the start, answers /offers/N and /basket/N, and reads the list again when it changes.
'use strict';
const crypto = require('crypto');
const fs = require('fs');
const http = require('http');

const [file, address, port] = process.argv.slice(2);
let offers = [];

function loadOffers() {
  offers = JSON.parse(fs.readFileSync(file, 'utf8'));
}

function log(line) {
  process.stdout.write(`${new Date().toISOString()} ${line}\n`);
}

loadOffers();
log(`loaded ${offers.length} offers`);
fs.watchFile(file, { interval: 500 }, () => {
  loadOffers();
  log(`reloaded ${offers.length} offers`);
});

http
  .createServer((request, response) => {
    const [, page, number] = request.url.split('/');
    const first = Number(number) % offers.length;
    setTimeout(() => {
      const lines = [];
      for (let index = first; index < first + 12; index += 1) {
        const offer = offers[index % offers.length];
        lines.push(`${offer.name.toUpperCase()};${(offer.price.amount * 1.19).toFixed(2)}`);
      }
      const body = JSON.stringify({ page, lines });
      const tag = crypto.pbkdf2Sync(body, 'offers', 600, 32, 'sha256').toString('hex');
      response.writeHead(200, { ETag: tag, 'Content-Type': 'application/json' });
      response.end(body);
    }, 2);
  })
  .listen(Number(port), address, 1024, () => log(`listening on ${address}:${port}`));
