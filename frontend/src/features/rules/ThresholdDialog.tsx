import { Button, NumberInput, SegmentedControl, Select, Textarea, TextInput } from "@mantine/core";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import type { Rule, RuleLimit, Threshold } from "../../client/types";
import { Dialog } from "../../components/Dialog";
import { ErrorLine } from "../../components/States";
import { quantity } from "../../core/format";
import { keys, put, useAction, useHosts } from "../../lib/queries";
import { useNames } from "../../lib/useNames";
import classes from "./Rules.module.css";

const PLACES = ["fleet", "label", "host"] as const;
type Where = (typeof PLACES)[number];
const LEAST_WHY = 3;

interface Props {
  rule: Rule;
  limit: RuleLimit;
  onClose: () => void;
}

/** Another value for one limit: where it holds, and why, because somebody will ask. */
export function ThresholdDialog({ rule, limit, onClose }: Props) {
  const { t } = useTranslation();
  const names = useNames();
  const hosts = useHosts({ state: "active" });
  const [value, setValue] = useState<number | string>(limit.value);
  const [where, setWhere] = useState<Where>("fleet");
  const [label, setLabel] = useState("");
  const [host, setHost] = useState<string | null>(null);
  const [why, setWhy] = useState("");
  const labels = [
    ...new Set(hosts.data?.flatMap((one) => Object.entries(one.labels).map(([k, v]) => `${k}=${v}`))),
  ].sort();
  const cut = label.indexOf("=");
  const save = useAction(
    () =>
      put<Threshold>("/thresholds", {
        name: `${rule.id}.${limit.name}`,
        value: Number(value),
        ...(where === "label" ? { label_name: label.slice(0, cut), label_value: label.slice(cut + 1) } : {}),
        ...(where === "host" ? { host_id: host } : {}),
        why: why.trim(),
      }),
    [keys.thresholds],
    onClose,
  );
  const placed = where === "fleet" || (where === "label" ? cut > 0 : host !== null);
  const ready = value !== "" && Number.isFinite(Number(value)) && placed && why.trim().length >= LEAST_WHY;
  return (
    <Dialog onClose={onClose} title={t("rules.changeOne", { name: `${rule.id}.${limit.name}` })} size="34rem">
      <form
        className={classes.form}
        onSubmit={(event) => {
          event.preventDefault();
          if (ready) save.mutate(undefined);
        }}
      >
        <p className={classes.note}>
          {names.measure(limit.measure, rule.id)} {limit.op}{" "}
          {t("rules.default", { value: quantity(limit.value, limit.unit) })}
        </p>
        <NumberInput
          label={`${t("rules.value")}${limit.unit && limit.against === "limit" ? ` (${limit.unit})` : ""}`}
          description={limit.against === "baseline" ? t("rules.baselineText") : undefined}
          value={value}
          onChange={setValue}
          data-autofocus
        />
        <SegmentedControl
          size="xs"
          data={PLACES.map((one) => ({ value: one, label: t(`rules.where.${one}`) }))}
          value={where}
          onChange={(next) => setWhere(next as Where)}
          aria-label={t("rules.whereTitle")}
        />
        {where === "label" && (
          <TextInput
            label={t("rules.label")}
            placeholder="role=feed"
            list="labels-known"
            value={label}
            onChange={(event) => setLabel(event.currentTarget.value)}
            error={label && cut <= 0 ? t("addHost.labelBad") : undefined}
          />
        )}
        <datalist id="labels-known">
          {labels.map((one) => (
            <option key={one} value={one} />
          ))}
        </datalist>
        {where === "host" && (
          <Select
            label={t("diagnose.host")}
            data={hosts.data?.map((one) => ({ value: one.id, label: one.name })) ?? []}
            value={host}
            onChange={setHost}
            searchable
            limit={80}
          />
        )}
        <Textarea
          label={t("rules.why")}
          placeholder={t("rules.whyHint")}
          required
          minLength={LEAST_WHY}
          maxLength={500}
          autosize
          minRows={2}
          value={why}
          onChange={(event) => setWhy(event.currentTarget.value)}
        />
        <ErrorLine error={save.error} />
        <div className={classes.formEnd}>
          <Button variant="default" size="sm" onClick={onClose}>
            {t("action.cancel")}
          </Button>
          <Button type="submit" size="sm" disabled={!ready} loading={save.isPending}>
            {t("rules.set")}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
