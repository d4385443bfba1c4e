import { useComputedColorScheme } from "@mantine/core";
import { useMemo } from "react";
import { listLegendModules } from "../../../core/profiles/colors";
import type { FlameNode } from "../../../core/profiles/flame";
import { formatPercent } from "../../../core/text/format";
import { useTranslation } from "../../../lib/text/useTranslation";
import classes from "./Panel.module.css";

const MAX_ITEMS = 8;

/** Colors of the modules with the largest self weight; a click filters to stacks through that module. */
export function ModuleLegend(props: { tree: FlameNode; total: number; onPick(module: string): void }) {
  const { t } = useTranslation();
  const scheme = useComputedColorScheme("dark");
  const items = useMemo(() => listLegendModules(props.tree, scheme, MAX_ITEMS), [props.tree, scheme]);
  return (
    <ul className={classes.legend} aria-label={t("profile.module")}>
      {items.map((item) => (
        <li key={item.module}>
          <button type="button" title={item.module} onClick={() => props.onPick(item.module)}>
            <span className={classes.swatch} style={{ background: item.fill }} />
            {item.name}{" "}
            <span className="num">{formatPercent(props.total > 0 ? item.self / props.total : 0)}</span>
          </button>
        </li>
      ))}
    </ul>
  );
}
