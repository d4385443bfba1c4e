import { afterEach, describe, expect, it } from "vitest";
import { getCatalog, loadTextsOf, selectLocale } from "./catalog";

const TITLE = "fleet.views.use";

afterEach(() => selectLocale("en"));

describe("loadTextsOf", () => {
  it("keeps the texts of a feature that are loaded at the same time as those of the language", async () => {
    const language = selectLocale("zh");
    await Promise.all([loadTextsOf("fleet"), loadTextsOf("fleet"), language]);
    const { locale, texts } = getCatalog();
    expect(locale).toBe("zh");
    expect(texts.get("nav.fleet")).toMatch(/\p{Script=Han}/u);
    expect(texts.get(TITLE)).toMatch(/\p{Script=Han}|USE/u);
  });

  it("has the texts of the language that was selected last", async () => {
    await Promise.all([selectLocale("zh"), loadTextsOf("hosts"), selectLocale("en")]);
    const { locale, texts } = getCatalog();
    expect(locale).toBe("en");
    expect(texts.get("host.capture")).toMatch(/^[A-Z][a-z ]+$/);
  });
});
