import { Button, NumberInput, TextInput } from "@mantine/core";
import { useState } from "react";
import { ErrorLine } from "../../../components/EmptyState";
import { Panel } from "../../../components/Page";
import { DataTable } from "../../../components/tables/DataTable";
import { formatBytes, formatCount } from "../../../core/text/format";
import { parseSize } from "../../../core/text/storage";
import { patch, post, useAction } from "../../../lib/queries";
import { useTimeFormat } from "../../../lib/text/useFormat";
import { useTranslation } from "../../../lib/text/useTranslation";
import type { RetentionPolicy, RetentionPreview, Storage, StoredKind } from "../api";
import classes from "./Storage.module.css";

const KEY = ["storage"] as const;

/** Retention limits by kind of data. A limit can be set only after a preview of its deletions. */
export function RetentionPolicyPanel({ storage }: { storage: Storage }) {
  const { t } = useTranslation();
  const [open, setOpen] = useState<StoredKind | null>(null);
  return (
    <Panel flush title={t("storage.retention")}>
      <p className={classes.note}>{t("storage.retentionText")}</p>
      <DataTable stack label={t("storage.retention")}>
        <thead>
          <tr>
            <th>{t("storage.kind")}</th>
            <th className="right">{t("storage.size")}</th>
            <th className={classes.barColumn}>{t("storage.citedShare")}</th>
            <th>{t("storage.limit")}</th>
            <th>
              <span className="visually-hidden">{t("host.more")}</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {storage.policies.map((policy) => (
            <PolicyRow
              key={policy.kind}
              policy={policy}
              storage={storage}
              open={open === policy.kind}
              setOpen={setOpen}
            />
          ))}
        </tbody>
      </DataTable>
    </Panel>
  );
}

interface PolicyRowProps {
  policy: RetentionPolicy;
  storage: Storage;
  open: boolean;
  setOpen: (kind: StoredKind | null) => void;
}

function PolicyRow({ policy, storage, open, setOpen }: PolicyRowProps) {
  const { t } = useTranslation();
  const usage = storage.measured?.kinds[policy.kind];
  const share = usage?.bytes ? usage.cited_bytes / usage.bytes : 0;
  const limit = useLimit();
  return (
    <>
      <tr>
        <td>
          {t(`storage.kinds.${policy.kind}`)}
          <div className="dim">{t(`storage.about.${policy.kind}`)}</div>
        </td>
        <td className="num right">{formatBytes(usage?.bytes)}</td>
        <td>
          {usage ? (
            <span
              className={classes.cited}
              title={t("storage.keptBytes", { size: formatBytes(usage.cited_bytes) })}
            >
              <span style={{ width: `${share * 100}%` }} />
            </span>
          ) : (
            <span className={classes.unknown}>–</span>
          )}
        </td>
        <td>
          {limit(policy)}
          {policy.running && <div className="dim">{t("storage.running")}</div>}
        </td>
        <td className="right">
          <Button size="compact-sm" variant="default" onClick={() => setOpen(open ? null : policy.kind)}>
            {open ? t("action.close") : t("storage.change")}
          </Button>
        </td>
      </tr>
      {open && (
        <tr>
          <td colSpan={5}>
            <PolicyEditor policy={policy} done={() => setOpen(null)} />
          </td>
        </tr>
      )}
    </>
  );
}

function useLimit(): (policy: Pick<RetentionPolicy, "days" | "max_bytes">) => string {
  const { t } = useTranslation();
  return ({ days, max_bytes }) => {
    const limits = [];
    if (days !== null) limits.push(t("storage.dayLimit", { count: days }));
    if (max_bytes !== null) limits.push(t("storage.sizeLimit", { size: formatBytes(max_bytes) }));
    return limits.join(", ") || t("storage.indefinitely");
  };
}

/** Form for the limits of a kind: it previews their deletions, then sets them. */
function PolicyEditor({ policy, done }: { policy: RetentionPolicy; done: () => void }) {
  const { t } = useTranslation();
  const [days, setDays] = useState<number | string>(policy.days ?? "");
  const [size, setSize] = useState(policy.max_bytes === null ? "" : formatBytes(policy.max_bytes));
  const [seen, setSeen] = useState<RetentionPreview | null>(null);
  const max = size.trim() === "" ? null : parseSize(size);
  const body = { kind: policy.kind, days: days === "" ? null : Number(days), max_bytes: max ?? null };
  const preview = useAction(() => post("/storage/policy/preview", body), [], setSeen);
  const set = useAction(() => patch("/storage/policy", body), [KEY], done);
  const touch = () => setSeen(null);
  return (
    <form
      className={classes.edit}
      onSubmit={(event) => {
        event.preventDefault();
        preview.mutate(undefined);
      }}
    >
      <NumberInput
        size="xs"
        label={t("storage.maxDays")}
        placeholder={t("storage.indefinitely")}
        min={1}
        max={36500}
        value={days}
        onChange={(value) => {
          setDays(value);
          touch();
        }}
        w={140}
      />
      <TextInput
        size="xs"
        label={t("storage.maxSize")}
        placeholder="50 GiB"
        value={size}
        error={max === undefined ? t("storage.noSize") : undefined}
        onChange={(event) => {
          setSize(event.currentTarget.value);
          touch();
        }}
        w={160}
      />
      <Button
        type="submit"
        variant={seen ? "default" : "filled"}
        loading={preview.isPending}
        disabled={max === undefined}
      >
        {t("storage.preview")}
      </Button>
      <ErrorLine error={preview.error ?? set.error} />
      {seen && (
        <div className={classes.preview} role="status">
          <PolicyPreview seen={seen} />
          <Button
            color={seen.items > 0 ? "red" : undefined}
            loading={set.isPending}
            onClick={() => set.mutate(undefined)}
          >
            {seen.items > 0 ? t("storage.setAndDelete", { size: formatBytes(seen.bytes) }) : t("storage.set")}
          </Button>
        </div>
      )}
    </form>
  );
}

function PolicyPreview({ seen }: { seen: RetentionPreview }) {
  const { t } = useTranslation();
  const time = useTimeFormat();
  if (seen.before === null) return <span>{t("storage.deletesNothing")}</span>;
  return (
    <span>
      {t("storage.deletes", {
        count: seen.items,
        formatted: formatCount(seen.items),
        size: formatBytes(seen.bytes),
        runs: formatCount(seen.runs),
        before: time.iso(seen.before),
      })}{" "}
      {t("storage.keptItems", {
        count: seen.cited_items,
        formatted: formatCount(seen.cited_items),
        size: formatBytes(seen.cited_bytes),
      })}
    </span>
  );
}
