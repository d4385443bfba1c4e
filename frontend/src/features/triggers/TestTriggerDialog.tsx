import { Button, TagsInput } from "@mantine/core";
import { useState } from "react";
import { ErrorLine } from "../../components/EmptyState";
import { StatusIcon, TierTag } from "../../components/StatusIcon";
import { labelsOf } from "../../core/hosts/labels";
import { post, useAction } from "../../lib/queries";
import { useMessage } from "../../lib/text/i18n";
import { useTranslation } from "../../lib/text/useTranslation";
import type { Trigger, TriggerTest } from "./api";
import classes from "./triggers.module.css";

/** Form that tests a trigger with labels and displays the result, without starting a capture. */
export function TestTriggerDialog({ trigger }: { trigger: Trigger }) {
  const { t } = useTranslation();
  const formatMessage = useMessage();
  const [labels, setLabels] = useState<string[]>(["alertname=HighLatency"]);
  const [result, setResult] = useState<TriggerTest>();
  const test = useAction(
    async () => setResult(await post(`/triggers/${trigger.id}/test`, { labels: labelsOf(labels) })),
    [],
  );
  return (
    <section className={classes.stack} aria-label={t("triggers.try.title")}>
      <TagsInput
        label={t("triggers.try.title")}
        description={t("triggers.try.text")}
        placeholder="instance=feed-7:9100"
        value={labels}
        onChange={setLabels}
      />
      <div className={classes.buttons}>
        <Button variant="default" loading={test.isPending} onClick={() => test.mutate(undefined)}>
          {t("triggers.try.send")}
        </Button>
        {result && (
          <span role="status" className={classes.tags}>
            <StatusIcon tone={result.state === "started" ? "ok" : "warn"}>
              {t(`triggers.state.${result.state}`)} {result.host?.name} {result.service}
            </StatusIcon>
            {result.reason && <span>{formatMessage(result.reason)}</span>}
            {result.peers.length > 0 && (
              <span>{t("triggers.with", { peers: result.peers.map((peer) => peer.name).join(", ") })}</span>
            )}
            {result.tiers.map((tier) => (
              <TierTag key={tier} tier={tier} />
            ))}
          </span>
        )}
      </div>
      <ErrorLine error={test.error} />
    </section>
  );
}
