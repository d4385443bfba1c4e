import { Button } from "@mantine/core";
import { Table2 } from "lucide-react";
import { type ComponentType, useId, useState } from "react";
import { formatNumber } from "../../core/text/format";
import { useLocalized, useMessage } from "../../lib/text/i18n";
import { useNames } from "../../lib/text/useNames";
import { useTranslation } from "../../lib/text/useTranslation";
import type { Visual, VisualBody } from "./api";
import classes from "./charts.module.css";
import { CHART_RENDERERS } from "./registry";

/** Render a chart with title, summary, omitted items and notes. A button switches to the same numbers as a table. */
export function ChartFrame({ visual, body }: { visual: Visual; body: VisualBody }) {
  const { t } = useTranslation();
  const localize = useLocalized();
  const formatMessage = useMessage();
  const names = useNames();
  const [asTable, setAsTable] = useState(false);
  const heading = useId();
  const about = names.subject(visual.subject);
  const label = [localize(visual.title), ...about].join(", ");
  return (
    <section
      className={classes.visual}
      aria-labelledby={heading}
      data-visual={visual.id}
      data-wide={CHART_RENDERERS[body.kind].wide || undefined}
    >
      <div className={classes.head}>
        <h3 className={classes.title} id={heading}>
          {localize(visual.title)}
          {about.map((item) => (
            <span key={item} className={classes.about}>
              {item}
            </span>
          ))}
        </h3>
        <Button
          size="compact-xs"
          variant={asTable ? "light" : "subtle"}
          leftSection={<Table2 size={13} aria-hidden />}
          aria-pressed={asTable}
          aria-label={t("visuals.asTableOf", { what: label })}
          onClick={() => setAsTable(!asTable)}
        >
          {t("visuals.asTable")}
        </Button>
      </div>
      <ChartBody body={body} asTable={asTable} label={label} />
      <p className={classes.summary}>{localize(visual.summary)}</p>
      {visual.left_out > 0 && (
        <p className={classes.summary}>
          {t("visuals.leftOut", { count: visual.left_out, visible: formatNumber(visual.left_out) })}
        </p>
      )}
      {visual.notes.map((message, i) => (
        <p key={i} className={classes.note}>
          {formatMessage(message)}
        </p>
      ))}
    </section>
  );
}

/** Render the title of a chart without data, with the reason. */
export function ChartUnavailable({ visual }: { visual: Visual }) {
  const { t } = useTranslation();
  const localize = useLocalized();
  const formatMessage = useMessage();
  const names = useNames();
  return (
    <li className={classes.unavailable}>
      <span className={classes.title}>{localize(visual.title)}</span>{" "}
      <span>{formatMessage(names.reason(visual.reason)) || t("visuals.noData")}</span>
    </li>
  );
}

interface ChartBodyProps {
  body: VisualBody;
  asTable: boolean;
  label: string;
}

function ChartBody({ body, asTable, label }: ChartBodyProps) {
  // The registry maps each kind to its renderer; TypeScript cannot infer that pairing for a union.
  const { View, Table } = CHART_RENDERERS[body.kind] as {
    [which in "View" | "Table"]: ComponentType<{ body: VisualBody; label: string }>;
  };
  return asTable ? <Table body={body} label={label} /> : <View body={body} label={label} />;
}
