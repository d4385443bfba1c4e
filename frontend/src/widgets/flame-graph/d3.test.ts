import { afterEach, expect, it, vi } from "vitest";
import { deltaFill, type FlameNode } from "../../core/profiles/flame";
import { drawFlame, frameElement } from "./d3";

const node = (
  id: number,
  name: string,
  value: number,
  delta: number,
  children: FlameNode[] = [],
): FlameNode => ({
  id,
  name,
  value,
  self: 0,
  kind: "user",
  delta,
  children,
});
const tree = node(0, "all", 100, 0, [
  node(1, "grew", 60, 0.2),
  node(2, "shrank", 20, -0.2),
  node(3, "same", 20, 0),
]);

const element = document.createElement("div");
document.body.append(element);
const options = () => ({
  width: 1000,
  inverted: false,
  fill: (n: FlameNode) => deltaFill(n.delta ?? 0, 0.2, "light"),
  label: (n: FlameNode) => n.name,
  title: (n: FlameNode) => n.name,
  onPick: vi.fn(),
  onHover: vi.fn(),
});
afterEach(() => element.replaceChildren());

const fillOf = (id: number) =>
  (frameElement(element, id)?.querySelector("rect")?.getAttribute("fill")?.match(/\d+/g) ?? []).map(Number);

it("renders grown frames red, shrunk frames blue and unchanged frames gray", () => {
  const flame = drawFlame(element, tree, options());
  const [r1 = 0, , b1 = 0] = fillOf(1);
  const [r2 = 0, , b2 = 0] = fillOf(2);
  const grey = fillOf(3);
  expect(r1 - b1).toBeGreaterThan(60);
  expect(b2 - r2).toBeGreaterThan(60);
  expect(Math.max(...grey) - Math.min(...grey)).toBeLessThan(24);
  flame.destroy();
  expect(element.childElementCount).toBe(0);
});

it("passes the clicked frame to onPick", () => {
  const chartOptions = options();
  const flame = drawFlame(element, tree, chartOptions);
  frameElement(element, 2)?.dispatchEvent(new MouseEvent("click", { bubbles: true }));
  expect(chartOptions.onPick).toHaveBeenCalledWith(expect.objectContaining({ name: "shrank" }));
  flame.destroy();
});

it("renders markup in frame names as text", () => {
  const hostile = '<img src=x onerror="globalThis.owned=1">';
  const flame = drawFlame(element, node(0, hostile, 1, 0), options());
  expect(element.querySelector("img")).toBeNull();
  expect(element.querySelector("title")?.textContent).toBe(hostile);
  flame.destroy();
});
