import { Button } from "@mantine/core";
import { SlidersHorizontal } from "lucide-react";
import { useState } from "react";
import type { Rule } from "../../client/models";
import { Link } from "../../components/Link";
import { Panel } from "../../components/Page";
import { StatusIcon } from "../../components/StatusIcon";
import { DataTable } from "../../components/tables/DataTable";
import { FactList } from "../../components/tables/FactList";
import { CodeSpans } from "../../components/text/CodeSpans";
import { PlaybookText } from "../../components/text/PlaybookText";
import { formatQuantity } from "../../core/text/format";
import { usePermission } from "../../lib/queries";
import { useLocalized } from "../../lib/text/i18n";
import { useNames } from "../../lib/text/useNames";
import { useTranslation } from "../../lib/text/useTranslation";
import type { RuleThreshold, Threshold } from "./api";
import classes from "./Rules.module.css";
import { ThresholdDialog } from "./ThresholdDialog";
import { overrideTarget, useHostNames } from "./ThresholdOverrides";

const SIGNS: Record<string, string> = { ">=": "≥", "<=": "≤", "!=": "≠", "==": "=" };
const TONES = { critical: "bad", warn: "warn", info: "off" } as const;

/** Return a message template with the names of its `{parameters}` as code elements. */
const renderPlaceholders = (template: string) =>
  template.split(/\{(\w+)\}/).map((part, i) =>
    i % 2 === 1 ? (
      <code key={i} className={classes.placeholder}>
        {part}
      </code>
    ) : (
      part
    ),
  );

/** Details of a rule: summary, measure, thresholds with their sources, caveats, and related causes and rules. */
export function RuleDetail({ rule, changed }: { rule: Rule; changed: readonly Threshold[] }) {
  const { t } = useTranslation();
  const localize = useLocalized();
  const names = useNames();
  const needs = rule.collectors.map((anyOf) => anyOf.map(names.collector).join(t("rules.or"))).join(" + ");
  const source = rule.source ? <CodeSpans text={rule.source} /> : "–";
  return (
    <Panel title={localize(rule.title)} headerExtra={<span className="mono">{rule.id}</span>}>
      <p className={classes.summary}>{renderPlaceholders(localize(rule.summary))}</p>
      <FactList
        items={[
          [t("rules.strength"), t(`findings.strength.${rule.strength}`)],
          [t("rules.measure"), names.measure(rule.measure, rule.id)],
          [t("rules.collectors"), needs || "–"],
          [t("rules.source"), source],
        ]}
      />
      <p className={classes.note}>{t(`findings.strengthMeaning.${rule.strength}`)}</p>
      <RuleThresholds rule={rule} changed={changed} />
      {rule.related.length > 0 && (
        <p className={classes.related}>
          <span className="dim">{t("rules.related")}</span>{" "}
          {rule.related.map((item) => names.measure(item.measure, rule.id)).join(" · ")}
        </p>
      )}
      {rule.caveats && (
        <p className={classes.caveat}>
          <strong>{t("rules.caveats")}</strong> <PlaybookText text={rule.caveats} />
        </p>
      )}
      <RelatedCauses title={t("rules.supports")} ids={rule.causes} kind="cause" />
      <RelatedCauses title={t("rules.refutes")} ids={rule.refutes} kind="cause" />
      <RelatedCauses title={t("rules.refutedBy")} ids={rule.refuted_by} kind="rule" />
    </Panel>
  );
}

/** Links to rules or causes by name. */
export function RelatedCauses(props: { title: string; ids: readonly string[]; kind: "rule" | "cause" }) {
  const names = useNames();
  if (props.ids.length === 0) return null;
  return (
    <p className={classes.related}>
      <span className="dim">{props.title}</span>{" "}
      {props.ids.map((id, i) => (
        <span key={id}>
          {i > 0 && " · "}
          <Link
            to="/rules"
            search={props.kind === "rule" ? { rule: id } : { view: "causes", cause: id }}
            title={id}
          >
            {props.kind === "rule" ? names.rule(id) : names.cause(id)}
          </Link>
        </span>
      ))}
    </p>
  );
}

function RuleThresholds({ rule, changed }: { rule: Rule; changed: readonly Threshold[] }) {
  const { t } = useTranslation();
  const can = usePermission();
  const names = useNames();
  const hosts = useHostNames();
  const [edited, setEdited] = useState<RuleThreshold>();
  const bound = (limit: RuleThreshold, value: number) =>
    limit.against === "baseline"
      ? t("rules.timesBaseline", { times: value })
      : formatQuantity(value, limit.unit);
  return (
    <>
      <DataTable stack label={t("rules.thresholds")}>
        <thead>
          <tr>
            <th>{t("rules.severity")}</th>
            <th>{t("rules.number")}</th>
            <th className="right">{t("rules.threshold")}</th>
            <th>{t("rules.from")}</th>
            <th>{t("rules.changedTo")}</th>
            {can("threshold.manage") && (
              <th>
                <span className="visually-hidden">{t("rules.change")}</span>
              </th>
            )}
          </tr>
        </thead>
        <tbody>
          {rule.thresholds.map((limit) => {
            const moved = changed.filter((threshold) => threshold.name === `${rule.id}.${limit.name}`);
            return (
              <tr key={limit.name}>
                <td>
                  {limit.severity ? (
                    <StatusIcon tone={TONES[limit.severity]}>
                      {t(`findings.severity.${limit.severity}`)}
                    </StatusIcon>
                  ) : (
                    <span className="dim">{t("rules.condition")}</span>
                  )}
                </td>
                <td>
                  <span title={`${rule.id}.${limit.name}`}>{names.measure(limit.measure, rule.id)}</span>
                </td>
                <td className="num right">
                  {SIGNS[limit.op] ?? limit.op} {bound(limit, limit.value)}
                </td>
                <td className={classes.source}>
                  {limit.source ? <CodeSpans text={limit.source} /> : <span className="dim">–</span>}
                </td>
                <td>
                  {moved.map((threshold) => (
                    <div key={threshold.id} title={threshold.why}>
                      <span className="num">{bound(limit, threshold.value)}</span>{" "}
                      <span className="dim">{overrideTarget(threshold, hosts, t("rules.fleet"))}</span>
                    </div>
                  ))}
                </td>
                {can("threshold.manage") && (
                  <td className="right">
                    <Button
                      size="compact-xs"
                      variant="default"
                      leftSection={<SlidersHorizontal size={12} />}
                      onClick={() => setEdited(limit)}
                      aria-label={t("rules.changeOne", { name: limit.name })}
                    >
                      {t("rules.change")}
                    </Button>
                  </td>
                )}
              </tr>
            );
          })}
        </tbody>
      </DataTable>
      {edited && <ThresholdDialog rule={rule} limit={edited} onClose={() => setEdited(undefined)} />}
    </>
  );
}
