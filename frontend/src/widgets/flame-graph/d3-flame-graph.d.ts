/** Types of the parts of d3-flame-graph 5 that are in use. The package has no types. */
declare module "d3-flame-graph" {
  export interface Frame<D> {
    data: D;
    x0: number;
    x1: number;
    depth: number;
    parent: Frame<D> | null;
  }
  export interface Chart<D> {
    (selection: unknown): void;
    width(px: number): Chart<D>;
    height(px: number | null): Chart<D>;
    cellHeight(px: number): Chart<D>;
    minFrameSize(px: number): Chart<D>;
    transitionDuration(ms: number): Chart<D>;
    inverted(on: boolean): Chart<D>;
    sort(order: boolean | ((a: Frame<D>, b: Frame<D>) => number)): Chart<D>;
    title(text: string): Chart<D>;
    getName(read: (frame: Frame<D>) => string): Chart<D>;
    setLabelHandler(label: (frame: Frame<D>) => string): Chart<D>;
    setColorMapper(color: (frame: Frame<D>, original: string) => string): Chart<D>;
    onHover(handler: (frame: Frame<D>) => void): Chart<D>;
    update(data?: D): Chart<D>;
    destroy(): void;
  }
  export default function flamegraph<D>(): Chart<D>;
}

/** The only function of d3-selection in use: wraps the container for d3-flame-graph and returns an element's datum. */
declare module "d3-selection" {
  export function select<D>(element: Element): {
    datum(): D;
    datum(data: unknown): { call(chart: (selection: never) => void): unknown };
  };
}
