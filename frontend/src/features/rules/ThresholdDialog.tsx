import { Button, NumberInput, SegmentedControl, Select, Textarea, TextInput } from "@mantine/core";
import { useState } from "react";
import type { Rule } from "../../client/models";
import { Dialog } from "../../components/Dialog";
import { ErrorLine } from "../../components/EmptyState";
import { formatQuantity } from "../../core/text/format";
import { put, queryKeys, useAction, useHosts } from "../../lib/queries";
import { useNames } from "../../lib/text/useNames";
import { useTranslation } from "../../lib/text/useTranslation";
import type { RuleThreshold } from "./api";
import classes from "./Rules.module.css";

const TARGETS = ["fleet", "label", "host"] as const;
type ThresholdTarget = (typeof TARGETS)[number];
const MIN_REASON = 3;

interface Props {
  rule: Rule;
  limit: RuleThreshold;
  onClose: () => void;
}

/** Dialog that overrides a threshold for the fleet, a label or a host, with a reason. */
export function ThresholdDialog({ rule, limit, onClose }: Props) {
  const { t } = useTranslation();
  const names = useNames();
  const hosts = useHosts({ state: "active" });
  const [value, setValue] = useState<number | string>(limit.value);
  const [where, setWhere] = useState<ThresholdTarget>("fleet");
  const [label, setLabel] = useState("");
  const [host, setHost] = useState<string | null>(null);
  const [why, setWhy] = useState("");
  const labels = [
    ...new Set(hosts.data?.flatMap((host) => Object.entries(host.labels).map(([k, v]) => `${k}=${v}`))),
  ].sort();
  const cut = label.indexOf("=");
  const save = useAction(
    () =>
      put("/thresholds", {
        name: `${rule.id}.${limit.name}`,
        value: Number(value),
        ...(where === "label" ? { label_name: label.slice(0, cut), label_value: label.slice(cut + 1) } : {}),
        ...(where === "host" ? { host_id: host } : {}),
        why: why.trim(),
      }),
    [queryKeys.thresholds],
    onClose,
  );
  const placed = where === "fleet" || (where === "label" ? cut > 0 : host !== null);
  const ready = value !== "" && Number.isFinite(Number(value)) && placed && why.trim().length >= MIN_REASON;
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
          {t("rules.default", { value: formatQuantity(limit.value, limit.unit) })}
        </p>
        <NumberInput
          label={`${t("rules.value")}${limit.unit && limit.against === "threshold" ? ` (${limit.unit})` : ""}`}
          description={limit.against === "baseline" ? t("rules.baselineText") : undefined}
          value={value}
          onChange={setValue}
          data-autofocus
        />
        <SegmentedControl
          size="xs"
          data={TARGETS.map((target) => ({ value: target, label: t(`rules.where.${target}`) }))}
          value={where}
          onChange={(next) => setWhere(next as ThresholdTarget)}
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
          {labels.map((label) => (
            <option key={label} value={label} />
          ))}
        </datalist>
        {where === "host" && (
          <Select
            label={t("diagnose.host")}
            data={hosts.data?.map((host) => ({ value: host.id, label: host.name })) ?? []}
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
          minLength={MIN_REASON}
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
