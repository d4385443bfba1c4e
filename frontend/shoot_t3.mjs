import { chromium } from "@playwright/test";
const url = "http://localhost:5233";
const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox", "--disable-gpu"] });
for (const [scheme, width, locale] of [["dark", 1440, "en-GB"], ["light", 700, "zh-CN"]]) {
  const page = await (await browser.newContext({ viewport: { width, height: 1000 }, colorScheme: scheme, locale, timezoneId: "UTC" })).newPage();
  page.setDefaultTimeout(90000);
  const hosts = await (await page.request.get(`${url}/api/v1/hosts?limit=1`)).json();
  const id = hosts.items[0].id;
  for (const [name, path] of [["events", "/events"], ["tell", "/events?act=add"], ["host", `/hosts/${id}?fold=changed,where`], ["upload", "/captures?dialog=import"], ["tokens", "/settings/tokens"]]) {
    await page.goto(url + path);
    await page.waitForTimeout(name === "host" ? 6000 : 3500);
    await page.screenshot({ path: `/tmp/t3_shots/${name}-${scheme}.png`, fullPage: name === "host" });
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
    console.log(name, scheme, "overflow", wide);
  }
}
await browser.close();
