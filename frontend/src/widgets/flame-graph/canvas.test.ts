import { afterEach, expect, it, vi } from "vitest";
import type { FlameNode } from "../../core/profiles/flame";
import { drawFlameCanvas } from "./canvas";
import { CELL_PX } from "./drawing";

const node = (id: number, name: string, value: number, children: FlameNode[] = []): FlameNode => ({
  id,
  name,
  value,
  self: 0,
  kind: "user",
  children,
});
const tree = node(0, "all", 100, [node(1, "left", 60, [node(3, "inner", 60)]), node(2, "right", 40)]);

const scroller = document.createElement("div");
const element = document.createElement("div");
scroller.append(element);
document.body.append(scroller);
afterEach(() => element.replaceChildren());

const settings = (inverted: boolean) => ({
  width: 1000,
  inverted,
  fill: () => "#fff",
  label: (item: FlameNode) => item.name,
  title: (item: FlameNode) => item.name,
  onPick: vi.fn(),
  onHover: vi.fn(),
  onMenu: vi.fn(() => true),
});
const fire = (type: string, clientX: number, clientY: number) => {
  const event = new MouseEvent(type, { clientX, clientY, bubbles: true, cancelable: true });
  element.querySelector("canvas")?.dispatchEvent(event);
  return event;
};

it("detects the frame under the pointer, with the root at the bottom or at the top", () => {
  for (const inverted of [false, true]) {
    const options = settings(inverted);
    const drawing = drawFlameCanvas(element, tree, options);
    expect(element.style.height).toBe(`${3 * CELL_PX}px`);
    const row = (level: number) => (inverted ? level : 2 - level) * CELL_PX + 4;
    fire("click", 300, row(1));
    expect(options.onPick).toHaveBeenLastCalledWith(expect.objectContaining({ name: "left" }));
    fire("mousemove", 900, row(1));
    expect(options.onHover).toHaveBeenLastCalledWith(expect.objectContaining({ name: "right" }));
    expect(element.querySelector("canvas")?.title).toBe("right");
    fire("mousemove", 900, row(2));
    expect(options.onHover).toHaveBeenLastCalledWith(null);
    expect(fire("contextmenu", 10, row(2)).defaultPrevented).toBe(true);
    expect(options.onMenu).toHaveBeenLastCalledWith(expect.objectContaining({ name: "inner" }), {
      x: 10,
      y: row(2),
    });
    expect(drawing.mark(2)).toEqual({ x: 600, y: CELL_PX });
    expect(drawing.mark(77)).toBeUndefined();
    drawing.destroy();
    expect(element.childElementCount).toBe(0);
  }
});
