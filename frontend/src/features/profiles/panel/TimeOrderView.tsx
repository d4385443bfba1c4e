import type { UseQueryResult } from "@tanstack/react-query";
import type { Profile } from "../../../client/models";
import { BlockSkeleton, EmptyState, QueryContent } from "../../../components/EmptyState";
import type { ColorBy } from "../../../core/profiles/colors";
import { type FlameNode, findFrame, walk } from "../../../core/profiles/flame";
import { formatCount } from "../../../core/text/format";
import { useTimeFormat } from "../../../lib/text/useFormat";
import { useTranslation } from "../../../lib/text/useTranslation";
import type { Point } from "../../../widgets/flame-graph/drawing";
import { FlameGraph } from "../../../widgets/flame-graph/FlameGraph";
import type { TimeOrder } from "../api";
import { frameTitle } from "../FrameDetails";
import type { Filter } from "../filter";
import { SampleAxis } from "../tracks/SampleAxis";
import { EmptySelection } from "./EmptySelection";
import classes from "./Panel.module.css";

interface Props {
  query: UseQueryResult<TimeOrder>;
  filter: Filter;
  unit: Profile["unit"];
  colorBy: ColorBy;
  matches: ReadonlySet<FlameNode["id"]> | undefined;
  /** Whether the samples of the profile have times. */
  hasTimes: boolean;
  /** Select the time of a box. */
  onZoom(node: FlameNode, data: TimeOrder): void;
  onFocus(node: FlameNode | null, total: number): void;
  onMenu(node: FlameNode, at: Point): void;
  onFrameKey(node: FlameNode, key: string): boolean;
}

/** Samples of one thread or CPU in the order of time; equal frames are one box while they follow each other. */
export function TimeOrderView(props: Props) {
  const { t } = useTranslation();
  const text = useBoxTimes();
  if (!props.hasTimes) return <EmptyState title={t("profile.timeOrder.noTimes")} />;
  return (
    <QueryContent inPlace query={props.query} skeleton={<BlockSkeleton height={420} />}>
      {(data) => {
        const tree = data.tree;
        if (!tree) return <EmptySelection filter={props.filter} />;
        const name =
          data.by === "thread"
            ? `${data.comm} ${data.tid}`.trim()
            : t("profile.timeOrder.cpu", { cpu: data.cpu });
        return (
          <>
            <p className={classes.note} data-testid="time-order-note">
              <span className="mono">{name}</span>
              {data.tracks_total > 1 &&
                ` ${t(`profile.timeOrder.heaviest.${data.by}`, { all: formatCount(data.tracks_total) })}`}
              {` ${t("profile.timeOrder.hint")}`}
              {countNarrow(tree) > 0 && ` ${t("profile.timeOrder.narrow")}`}
            </p>
            <SampleAxis tree={tree} unit={props.unit} />
            <FlameGraph
              // The IDs count boxes, so an outline does not belong to the boxes of another selection.
              key={`${tree.first_ns}-${tree.last_ns}-${name}`}
              fitsView
              inverted
              tree={tree}
              path={[]}
              matches={props.matches}
              colorBy={props.colorBy}
              label={t("profile.timeOrder.drawing", { name, samples: data.samples })}
              title={(node) => `${frameTitle(node, data.total, props.unit)}\n${text(node)}`}
              onZoom={(id) => {
                const node = findFrame(tree, id);
                if (node) props.onZoom(node, data);
              }}
              onFocus={(node) => props.onFocus(node, data.total)}
              onMenu={props.onMenu}
              onFrameKey={props.onFrameKey}
            />
          </>
        );
      }}
    </QueryContent>
  );
}

/** Return a function that formats the times of the first and the last sample of a box; "" without times. */
export function useBoxTimes(): (node: FlameNode) => string {
  const time = useTimeFormat();
  return ({ first_ns: first, last_ns: last }) => {
    if (first === undefined || last === undefined) return "";
    const step = 1e6;
    return first === last ? time.time(first, step) : `${time.time(first, step)} – ${time.time(last, step)}`;
  };
}

/** Return the number of boxes that cover several narrow ones. */
function countNarrow(root: FlameNode): number {
  let count = 0;
  for (const { node } of walk(root)) if (node.kind === "pruned") count += 1;
  return count;
}
