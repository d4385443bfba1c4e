import { Button } from "@mantine/core";
import { SlidersHorizontal } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import type { Rule, RuleLimit, Threshold } from "../../client/types";
import { Facts } from "../../components/Facts";
import { Grid } from "../../components/Grid";
import { Link } from "../../components/Link";
import { Mark } from "../../components/Mark";
import { Panel } from "../../components/Page";
import { quantity } from "../../core/format";
import { usePick } from "../../lib/i18n";
import { useMay } from "../../lib/queries";
import { useNames } from "../../lib/useNames";
import { placeOf, useHostNames } from "./Overrides";
import classes from "./Rules.module.css";
import { ThresholdDialog } from "./ThresholdDialog";

const SIGNS: Record<string, string> = { ">=": "≥", "<=": "≤", "!=": "≠", "==": "=" };
const TONES = { critical: "bad", warn: "warn", info: "off" } as const;

/** A sentence whose numbers are not known yet: their places are named and set apart. */
const withPlaces = (template: string) =>
  template.split(/\{(\w+)\}/).map((part, i) =>
    i % 2 === 1 ? (
      <code key={i} className={classes.place}>
        {part}
      </code>
    ) : (
      part
    ),
  );

/** One rule: what it says, which numbers decide it and where those are from, what it speaks for. */
export function RuleDetail({ rule, changed }: { rule: Rule; changed: readonly Threshold[] }) {
  const { t } = useTranslation();
  const pick = usePick();
  const names = useNames();
  const needs = rule.collectors.map((anyOf) => anyOf.map(names.collector).join(t("rules.or"))).join(" + ");
  return (
    <Panel title={pick(rule.title)} aside={<span className="mono">{rule.id}</span>}>
      <p className={classes.says}>{withPlaces(pick(rule.says))}</p>
      <Facts
        items={[
          [t("rules.grade"), t(`findings.grade.${rule.grade}`)],
          [t("rules.reads"), names.measure(rule.measure, rule.id)],
          [t("rules.collectors"), needs || "–"],
          [t("rules.source"), rule.source || "–"],
        ]}
      />
      <p className={classes.note}>{t(`findings.gradeMeaning.${rule.grade}`)}</p>
      <Limits rule={rule} changed={changed} />
      {rule.beside.length > 0 && (
        <p className={classes.related}>
          <span className="dim">{t("rules.tellsBeside")}</span>{" "}
          {rule.beside.map((one) => names.measure(one.measure, rule.id)).join(" · ")}
        </p>
      )}
      {rule.traps && (
        <p className={classes.trap}>
          <strong>{t("rules.traps")}</strong> {pick(rule.traps)}
        </p>
      )}
      <Related title={t("rules.speaksFor")} ids={rule.causes} kind="cause" />
      <Related title={t("rules.silenceRefutes")} ids={rule.refutes} kind="cause" />
      <Related title={t("rules.refutedBy")} ids={rule.refuted_by} kind="rule" />
    </Panel>
  );
}

/** Links to other rules or causes, under their names. */
export function Related(props: { title: string; ids: readonly string[]; kind: "rule" | "cause" }) {
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
            search={(props.kind === "rule" ? { rule: id } : { view: "causes", cause: id }) as never}
            title={id}
          >
            {props.kind === "rule" ? names.rule(id) : names.cause(id)}
          </Link>
        </span>
      ))}
    </p>
  );
}

function Limits({ rule, changed }: { rule: Rule; changed: readonly Threshold[] }) {
  const { t } = useTranslation();
  const may = useMay();
  const names = useNames();
  const hosts = useHostNames();
  const [edited, setEdited] = useState<RuleLimit>();
  const bound = (limit: RuleLimit, value: number) =>
    limit.against === "baseline" ? t("rules.timesBaseline", { times: value }) : quantity(value, limit.unit);
  return (
    <>
      <Grid stack label={t("rules.thresholds")}>
        <thead>
          <tr>
            <th>{t("rules.severity")}</th>
            <th>{t("rules.number")}</th>
            <th className="right">{t("rules.threshold")}</th>
            <th>{t("rules.from")}</th>
            <th>{t("rules.changedTo")}</th>
            {may("threshold.manage") && (
              <th>
                <span className="visually-hidden">{t("rules.change")}</span>
              </th>
            )}
          </tr>
        </thead>
        <tbody>
          {rule.limits.map((limit) => {
            const moved = changed.filter((one) => one.name === `${rule.id}.${limit.name}`);
            return (
              <tr key={limit.name}>
                <td>
                  {limit.severity ? (
                    <Mark tone={TONES[limit.severity]}>{t(`findings.severity.${limit.severity}`)}</Mark>
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
                <td className={classes.source}>{limit.source || <span className="dim">–</span>}</td>
                <td>
                  {moved.map((one) => (
                    <div key={one.id} title={one.why}>
                      <span className="num">{bound(limit, one.value)}</span>{" "}
                      <span className="dim">{placeOf(one, hosts, t("rules.fleet"))}</span>
                    </div>
                  ))}
                </td>
                {may("threshold.manage") && (
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
      </Grid>
      {edited && <ThresholdDialog rule={rule} limit={edited} onClose={() => setEdited(undefined)} />}
    </>
  );
}
