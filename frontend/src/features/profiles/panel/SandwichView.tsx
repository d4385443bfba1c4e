import { Button } from "@mantine/core";
import type { Profile } from "../../../client/models";
import { BlockSkeleton, QueryContent } from "../../../components/EmptyState";
import type { ColorBy } from "../../../core/profiles/colors";
import { type FlameNode, findFrame, findMatchingFrames } from "../../../core/profiles/flame";
import { formatPercent } from "../../../core/text/format";
import { useTranslation } from "../../../lib/text/useTranslation";
import type { Point } from "../../../widgets/flame-graph/drawing";
import { FlameGraph } from "../../../widgets/flame-graph/FlameGraph";
import { type FunctionRow, useSandwich } from "../api";
import { frameTitle, weightText } from "../FrameDetails";
import type { Selection } from "../filter";
import classes from "./Panel.module.css";

interface Props {
  profileId: string;
  selection: Selection;
  fn: string;
  unit: Profile["unit"];
  width: number;
  colorBy: ColorBy;
  /** Functions to choose from while `fn` is empty. */
  heaviest: readonly FunctionRow[];
  onPick(name: string): void;
  q: string;
  /** `total` is the denominator of shares. */
  onFocus(node: FlameNode | null, total: number): void;
  onMenu(node: FlameNode, at: Point): void;
  onFrameKey(node: FlameNode, key: string): boolean;
  /** Display the instructions of the function; undefined if the samples have no addresses. */
  onCode: ((name: string, module: string) => void) | undefined;
}

/** Sandwich view of a function: all its callers above, all its callees below. */
export function SandwichView(props: Props) {
  const { t } = useTranslation();
  const { fn, unit } = props;
  const query = useSandwich(props.profileId, props.selection, fn, props.width, true);
  if (!fn)
    return (
      <div className={classes.choose}>
        <p>{t("profile.sandwich.choose")}</p>
        <ul>
          {props.heaviest.slice(0, 12).map((row) => (
            <li key={`${row.frame}\u0000${row.module}`}>
              <button type="button" onClick={() => props.onPick(row.frame)}>
                {row.frame}
              </button>
            </li>
          ))}
        </ul>
      </div>
    );
  return (
    <QueryContent inPlace query={query} skeleton={<BlockSkeleton height={420} />}>
      {(data) => {
        const share = (weight: number) => formatPercent(data.view_total > 0 ? weight / data.view_total : 0);
        const half = (tree: FlameNode, name: "callers" | "callees") => (
          <FlameGraph
            tree={tree}
            path={[]}
            inverted={name === "callees"}
            colorBy={props.colorBy}
            matches={props.q ? findMatchingFrames(tree, props.q) : undefined}
            label={t(`profile.sandwich.${name}`, { name: fn })}
            title={(node) => frameTitle(node, data.view_total, unit)}
            onZoom={(id) => {
              const node = findFrame(tree, id);
              if (node && node.name !== fn && node.kind !== "comm") props.onPick(node.name);
            }}
            onFocus={(node) => props.onFocus(node, data.view_total)}
            onMenu={props.onMenu}
            onFrameKey={props.onFrameKey}
          />
        );
        return (
          <div className={classes.sandwich} data-testid="sandwich">
            <p className={classes.halfTitle}>{t("profile.sandwich.callersTitle")}</p>
            {half(data.callers, "callers")}
            <p className={classes.selected}>
              <span className={classes.current} title={fn}>
                {fn}
              </span>
              {data.module && (
                <span className={classes.from} title={data.module}>
                  {data.module.split("/").at(-1)}
                </span>
              )}
              <span>
                {t("profile.total")} <span className="num">{weightText(data.total, unit)}</span> ·{" "}
                <span className="num">{share(data.total)}</span>
              </span>
              <span>
                {t("profile.self")} <span className="num">{weightText(data.self, unit)}</span> ·{" "}
                <span className="num">{share(data.self)}</span>
              </span>
              {props.onCode && (
                <Button
                  size="compact-xs"
                  variant="default"
                  onClick={() => props.onCode?.(fn, data.module ?? "")}
                >
                  {t("profile.act.code")}
                </Button>
              )}
            </p>
            {half(data.callees, "callees")}
            <p className={classes.halfTitle}>{t("profile.sandwich.calleesTitle")}</p>
          </div>
        );
      }}
    </QueryContent>
  );
}
