import { Button } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { EmptyState, ErrorLine, QueryContent } from "../../../components/EmptyState";
import { Panel } from "../../../components/Page";
import { RelativeTime } from "../../../components/text/RelativeTime";
import { formatBytes, formatCount } from "../../../core/text/format";
import { get, post, remove, useAction } from "../../../lib/queries";
import { useTimeFormat } from "../../../lib/text/useFormat";
import { useTranslation } from "../../../lib/text/useTranslation";
import type { Storage as StorageRead } from "../api";
import { AlteredFilesTable } from "./AlteredFilesTable";
import { RetentionPolicyPanel } from "./RetentionPolicyPanel";
import classes from "./Storage.module.css";
import { DayBars, DiskBar, HostBars } from "./StorageBars";

export const STORAGE = ["storage"] as const;
/** Polling interval while a worker measures or checks the storage, in ms. */
const CHECK_POLL_MS = 2_000;

/** Storage settings: disk usage, forecast, retention policy, and consistency check. */
export function StoragePanel() {
  const { t } = useTranslation();
  const storage = useQuery({
    queryKey: STORAGE,
    queryFn: () => get("/storage"),
    refetchInterval: ({ state }) => (state.data?.pending_checks.length ? CHECK_POLL_MS : false),
  });
  const measure = useAction(() => post("/storage/checks", { kind: "measure" }), [STORAGE]);
  return (
    <QueryContent query={storage}>
      {(item) => (
        <>
          <Panel
            title={t("settings.storage.title")}
            headerExtra={
              <span className={classes.summary}>
                {item.measured && (
                  <span className="dim">
                    {t("storage.measured")} <RelativeTime at={item.measured.at} />
                  </span>
                )}
                <Button
                  size="compact-sm"
                  variant="default"
                  loading={measure.isPending || item.pending_checks.includes("measure")}
                  onClick={() => measure.mutate(undefined)}
                >
                  {t("storage.measure")}
                </Button>
              </span>
            }
          >
            <ErrorLine error={measure.error} />
            <StorageForecast storage={item} />
            {item.measured ? (
              <DiskBar measured={item.measured} store={item.store} />
            ) : (
              <EmptyState title={t("storage.unmeasured")}>{t("storage.unmeasuredText")}</EmptyState>
            )}
          </Panel>
          {item.measured && (
            <>
              <Panel title={t("storage.days")}>
                <DayBars measured={item.measured} />
              </Panel>
              <Panel title={t("storage.hosts")}>
                <HostBars measured={item.measured} />
              </Panel>
            </>
          )}
          <RetentionPolicyPanel storage={item} />
          <ConsistencyCheck storage={item} />
        </>
      )}
    </QueryContent>
  );
}

/** Free space, growth and deletion per day, and the date when the disk is full. */
function StorageForecast({ storage }: { storage: StorageRead }) {
  const { t } = useTranslation();
  const time = useTimeFormat();
  const { disk, forecast } = storage;
  const known = forecast && forecast.days >= 2;
  return (
    <dl className={classes.forecast}>
      <div>
        <dt>{t("storage.free")}</dt>
        <dd className={disk.low ? classes.warning : undefined}>
          <span className="num">{formatBytes(disk.free)}</span>{" "}
          <span className="dim">{t("storage.of", { total: formatBytes(disk.total) })}</span>
        </dd>
      </div>
      <div>
        <dt>{t("storage.addedPerDay")}</dt>
        <dd className={known ? "num" : classes.unknown}>
          {known
            ? t("storage.perDay", { size: formatBytes(forecast.grows_per_day) })
            : t("storage.forecastUnknown")}
        </dd>
      </div>
      <div>
        <dt>{t("storage.deleted")}</dt>
        <dd className={known ? "num" : classes.unknown}>
          {known
            ? t("storage.perDay", { size: formatBytes(forecast.removed_per_day) })
            : t("storage.forecastUnknown")}
        </dd>
      </div>
      <div>
        <dt>{t("storage.full")}</dt>
        <dd className={known ? undefined : classes.unknown}>
          {!known
            ? t("storage.forecastUnknown")
            : forecast.full_at
              ? time.iso(forecast.full_at).slice(0, 10)
              : t("storage.never")}
        </dd>
      </div>
    </dl>
  );
}

/** Compare rows with files, and list altered files: files without a row can be deleted, the others are restored. */
function ConsistencyCheck({ storage }: { storage: StorageRead }) {
  const { t } = useTranslation();
  const { checked, file_checks: fileChecks, pending_checks: pendingChecks, waiting } = storage;
  const check = useAction(() => post("/storage/checks", { kind: "check" }), [STORAGE]);
  const deleteOrphans = useAction(
    () => remove("/storage/orphans"),
    [STORAGE],
    () => check.mutate(undefined),
  );
  return (
    <Panel
      title={t("storage.consistency")}
      headerExtra={
        <Button
          size="compact-sm"
          variant="default"
          loading={check.isPending || pendingChecks.includes("check")}
          onClick={() => check.mutate(undefined)}
        >
          {t("storage.check")}
        </Button>
      }
    >
      <p className={classes.text}>{t("storage.consistencyText")}</p>
      <ErrorLine error={check.error ?? deleteOrphans.error} />
      {checked ? (
        <dl className={classes.forecast}>
          <div>
            <dt>{t("storage.checked")}</dt>
            <dd>
              <RelativeTime at={checked.at} />
              {": "}
              <span className="num">
                {t("storage.files", { count: checked.files, formatted: formatCount(checked.files) })}
              </span>
            </dd>
          </div>
          <div>
            <dt>{t("storage.orphans")}</dt>
            <dd>
              <span className="num">
                {formatCount(checked.orphans.count)} ({formatBytes(checked.orphans.bytes)})
              </span>{" "}
              {checked.orphans.count > 0 && (
                <Button
                  size="compact-xs"
                  variant="default"
                  loading={deleteOrphans.isPending}
                  onClick={() => deleteOrphans.mutate(undefined)}
                >
                  {t("storage.deleteOrphans")}
                </Button>
              )}
            </dd>
          </div>
          <div>
            <dt>{t("storage.missing")}</dt>
            <dd className={checked.missing.count > 0 ? classes.warning : undefined}>
              <span className="num">{formatCount(checked.missing.count)}</span>{" "}
              {checked.missing.count > 0 && t("storage.missingText")}
            </dd>
          </div>
          <div>
            <dt>{t("storage.waiting")}</dt>
            <dd className="num">{formatCount(waiting)}</dd>
          </div>
        </dl>
      ) : (
        <p className={classes.unknown}>{t("storage.unchecked")}</p>
      )}
      <dl className={classes.forecast}>
        <div>
          <dt>{t("storage.readAgain")}</dt>
          <dd className={fileChecks.every_hours > 0 ? undefined : classes.unknown}>
            {fileChecks.every_hours > 0
              ? t("storage.readEvery", { count: fileChecks.every_hours })
              : t("storage.readNever")}
          </dd>
        </div>
        <div>
          <dt>{t("storage.oldestRead")}</dt>
          <dd>{fileChecks.oldest_at ? <RelativeTime at={fileChecks.oldest_at} /> : "–"}</dd>
        </div>
        <div>
          <dt>{t("storage.altered")}</dt>
          <dd className={fileChecks.altered_count > 0 ? classes.warning : undefined}>
            <span className="num">{formatCount(fileChecks.altered_count)}</span>{" "}
            {fileChecks.altered_count > 0 && t("storage.alteredText")}
          </dd>
        </div>
      </dl>
      {fileChecks.altered.length > 0 && <AlteredFilesTable files={fileChecks.altered} />}
    </Panel>
  );
}
