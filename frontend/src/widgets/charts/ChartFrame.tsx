import { Button } from "@mantine/core";
import { Table2 } from "lucide-react";
import { type ComponentType, useId, useState } from "react";
import { number } from "../../core/text/format";
import { useLocalized, useMessage } from "../../lib/text/i18n";
import { useNames } from "../../lib/text/useNames";
import { useTranslation } from "../../lib/text/useTranslation";
import type { Visual, VisualBody } from "./api";
import classes from "./charts.module.css";
import { CHART_RENDERERS } from "./registry";

/** Render a chart with title, summary, omitted items and notes. A button switches to the same numbers as a table. */
export function ChartFrame({ visual, body }: { visual: Visual; body: VisualBody }) {
  const { t } = useTranslation();
  const pick = useLocalized();
  const sentence = useMessage();
  const names = useNames();
  const [asTable, setAsTable] = useState(false);
  const heading = useId();
  const about = names.subject(visual.subject);
  const label = [pick(visual.title), ...about].join(", ");
  return (
    <section
      className={classes.visual}
      aria-labelledby={heading}
      data-visual={visual.id}
      data-wide={CHART_RENDERERS[body.kind].wide || undefined}
    >
      <div className={classes.head}>
        <h3 className={classes.title} id={heading}>
          {pick(visual.title)}
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
      <p className={classes.summary}>{pick(visual.summary)}</p>
      {visual.left_out > 0 && (
        <p className={classes.summary}>
          {t("visuals.leftOut", { count: visual.left_out, visible: number(visual.left_out) })}
        </p>
      )}
      {visual.notes.map((message, i) => (
        <p key={i} className={classes.note}>
          {sentence(message)}
        </p>
      ))}
    </section>
  );
}

/** Render the title of a chart without data, with the reason. */
export function ChartUnavailable({ visual }: { visual: Visual }) {
  const { t } = useTranslation();
  const pick = useLocalized();
  const sentence = useMessage();
  const names = useNames();
  return (
    <li className={classes.nothing}>
      <span className={classes.title}>{pick(visual.title)}</span>{" "}
      <span>{sentence(names.reason(visual.reason)) || t("visuals.noData")}</span>
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
  const { Picture, Table } = CHART_RENDERERS[body.kind] as {
    [which in "Picture" | "Table"]: ComponentType<{ body: VisualBody; label: string }>;
  };
  return asTable ? <Table body={body} label={label} /> : <Picture body={body} label={label} />;
}
