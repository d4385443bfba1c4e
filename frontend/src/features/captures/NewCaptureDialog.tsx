import { Button, Checkbox, MultiSelect, NumberInput, Select, TextInput } from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";
import { Play } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import type { Capture } from "../../client/types";
import { Dialog } from "../../components/Dialog";
import { Mark, TierTag } from "../../components/Mark";
import { ErrorLine, ErrorState, RowSkeleton } from "../../components/States";
import { cx } from "../../core/cx";
import { bytes, number } from "../../core/format";
import { useDialogState } from "../../lib/dialogs";
import { usePick, useSentence } from "../../lib/i18n";
import { keys, post, useAction, useCollectors, useHosts, usePlans } from "../../lib/queries";
import { usePreview } from "../../lib/usePreview";
import { expectedCost, PreviewTable } from "../../renderers/capture/PreviewTable";
import classes from "./NewCapture.module.css";

const CUSTOM = "custom";

/** Before anything runs: which commands, on which hosts, at what tier and cost, for how long. */
export function NewCaptureDialog({ onClose }: { onClose: () => void }) {
  const { t } = useTranslation();
  const pick = usePick();
  const sentence = useSentence();
  const navigate = useNavigate();
  const [asked] = useDialogState();
  const hosts = useHosts({ state: "active" });
  const plans = usePlans();
  const about = useCollectors();
  const [chosen, setChosen] = useState<string[]>([...asked.on]);
  const [plan, setPlan] = useState(asked.with.length > 0 ? CUSTOM : asked.plan || "triage");
  const [seconds, setSeconds] = useState<number | string>("");
  const [collectors, setCollectors] = useState<string[]>([...asked.with]);
  const [reason, setReason] = useState("");
  const [once] = useState(() => crypto.randomUUID());

  const custom = plan === CUSTOM;
  const known = plans.data?.find((one) => one.id === plan);
  const body = {
    host_ids: chosen,
    plan: custom ? CUSTOM : plan,
    ...(seconds === "" ? {} : { seconds: Number(seconds) }),
    ...(custom ? { collectors } : {}),
  };
  const ready = chosen.length > 0 && (!custom || collectors.length > 0);
  const preview = usePreview(body, ready);
  const run = useAction(
    () => post<Capture>("/captures", { ...body, reason: reason.trim() }, once),
    [keys.captures, keys.hosts],
    (capture) => void navigate({ to: "/captures/$captureId", params: { captureId: capture.id } }),
  );
  const data = ready ? preview.data : undefined;
  const cost = data && expectedCost(data);
  const refused = data && !data.allowed;
  return (
    <Dialog onClose={onClose} title={t("newCapture.title")} size="72rem">
      <form
        className={classes.form}
        onSubmit={(event) => {
          event.preventDefault();
          if (ready && data?.allowed) run.mutate(undefined);
        }}
      >
        <div className={classes.top}>
          <MultiSelect
            label={t("nav.hosts")}
            placeholder={chosen.length === 0 ? t("newCapture.chooseHosts") : ""}
            data={
              hosts.data?.map((host) => ({ value: host.id, label: host.name })) ??
              chosen.map((id) => ({ value: id, label: "…" }))
            }
            value={chosen}
            onChange={setChosen}
            searchable
            clearable
            limit={80}
            maxValues={200}
            hidePickedOptions
            className={classes.hosts ?? ""}
            data-autofocus={asked.on.length === 0 || undefined}
          />
          <Select
            label={t("captures.plan")}
            data={[
              ...(plans.data ?? []).map((one) => ({
                value: one.id,
                label: `${pick(one.title)} · ${t(`tier.${one.tier}.name`)}`,
              })),
              { value: CUSTOM, label: t("newCapture.custom") },
            ]}
            value={plan}
            onChange={(value) => {
              setPlan(value ?? "triage");
              setSeconds("");
            }}
          />
          <NumberInput
            label={t("newCapture.seconds")}
            min={1}
            max={600}
            placeholder={String(known?.seconds ?? 15)}
            suffix=" s"
            value={seconds}
            onChange={setSeconds}
          />
          <TextInput
            label={t("captures.reason")}
            placeholder={t("newCapture.reasonHint")}
            data-autofocus
            maxLength={500}
            value={reason}
            onChange={(event) => setReason(event.currentTarget.value)}
            className={classes.reason ?? ""}
          />
        </div>
        {custom && (
          <Checkbox.Group value={collectors} onChange={setCollectors} label={t("preflight.collectors")}>
            <div className={classes.choices}>
              {(about.data ?? []).map((one) => (
                <span key={one.id} className={classes.choice}>
                  <Checkbox size="xs" value={one.id} label={pick(one.title)} /> <TierTag tier={one.tier} />
                </span>
              ))}
            </div>
          </Checkbox.Group>
        )}
        <div className={cx(classes.preview, preview.isPlaceholderData && classes.stale)}>
          {!ready ? (
            <p className={classes.hint}>
              {chosen.length === 0 ? t("newCapture.needHosts") : t("newCapture.needCollectors")}
            </p>
          ) : preview.error ? (
            <ErrorState error={preview.error} retry={() => void preview.refetch()} />
          ) : data ? (
            <PreviewTable preview={data} hosts={hosts.data ?? []} />
          ) : (
            <RowSkeleton rows={8} />
          )}
        </div>
        <div className={classes.bottom}>
          <span className={classes.summary}>
            {data && cost && (
              <>
                <TierTag tier={data.tier} />
                <span>{t("newCapture.takes", { seconds: data.total_seconds })}</span>
                <span>{t("newCapture.cost", { cpu: number(cost.cpu_pct), bytes: bytes(cost.bytes) })}</span>
              </>
            )}
            {refused && <Mark tone="bad">{sentence(data.refusal) || t("error.forbidden")}</Mark>}
          </span>
          <ErrorLine error={run.error} />
          <Button variant="default" size="sm" onClick={onClose}>
            {t("action.cancel")}
          </Button>
          <Button
            type="submit"
            size="sm"
            leftSection={<Play size={14} />}
            disabled={!data?.allowed || preview.isPlaceholderData}
            loading={run.isPending}
          >
            {t("newCapture.run", { count: chosen.length })}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
