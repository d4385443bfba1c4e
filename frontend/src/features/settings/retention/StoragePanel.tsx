import { Button } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import type { Storage as StorageRead } from "../../client/storage";
import { Ago } from "../../components/Ago";
import { Panel } from "../../components/Page";
import { Empty, ErrorLine, Loaded } from "../../components/States";
import { bytes, count } from "../../core/format";
import { get, post, useAction } from "../../lib/queries";
import { useTimeFormat } from "../../lib/useFormat";
import { Retention } from "./Retention";
import classes from "./Storage.module.css";
import { DayBars, DiskBar, HostBars } from "./StorageBars";

export const STORAGE = ["storage"] as const;
/** While a worker looks, the page asks again so often, in milliseconds. */
const LOOKING_MS = 2_000;

/** What uses the space, when it is full, how long what is kept, and whether all of it is there. */
export function Storage() {
  const { t } = useTranslation();
  const storage = useQuery({
    queryKey: STORAGE,
    queryFn: () => get<StorageRead>("/storage"),
    refetchInterval: ({ state }) => (state.data?.looking.length ? LOOKING_MS : false),
  });
  const measure = useAction(() => post("/storage/looks", { kind: "measure" }), [STORAGE]);
  return (
    <Loaded query={storage}>
      {(one) => (
        <>
          <Panel
            title={t("settings.storage.title")}
            aside={
              <span className={classes.aside}>
                {one.measured && (
                  <span className="dim">
                    {t("storage.measured")} <Ago at={one.measured.at} />
                  </span>
                )}
                <Button
                  size="compact-sm"
                  variant="default"
                  loading={measure.isPending || one.looking.includes("measure")}
                  onClick={() => measure.mutate(undefined)}
                >
                  {t("storage.measure")}
                </Button>
              </span>
            }
          >
            <ErrorLine error={measure.error} />
            <Outlook storage={one} />
            {one.measured ? (
              <DiskBar measured={one.measured} store={one.store} />
            ) : (
              <Empty title={t("storage.unmeasured")}>{t("storage.unmeasuredText")}</Empty>
            )}
          </Panel>
          {one.measured && (
            <>
              <Panel title={t("storage.days")}>
                <DayBars measured={one.measured} />
              </Panel>
              <Panel title={t("storage.hosts")}>
                <HostBars measured={one.measured} />
              </Panel>
            </>
          )}
          <Retention storage={one} />
          <Whole storage={one} />
        </>
      )}
    </Loaded>
  );
}

/** The answer in one line: how much is free, how fast it goes, and when it is gone. */
function Outlook({ storage }: { storage: StorageRead }) {
  const { t } = useTranslation();
  const time = useTimeFormat();
  const { disk, forecast } = storage;
  const known = forecast && forecast.days >= 2;
  return (
    <dl className={classes.outlook}>
      <div>
        <dt>{t("storage.free")}</dt>
        <dd className={disk.low ? classes.low : undefined}>
          <span className="num">{bytes(disk.free)}</span>{" "}
          <span className="dim">{t("storage.of", { total: bytes(disk.total) })}</span>
        </dd>
      </div>
      <div>
        <dt>{t("storage.grows")}</dt>
        <dd className={known ? "num" : classes.unknown}>
          {known ? t("storage.perDay", { size: bytes(forecast.grows_per_day) }) : t("storage.tooYoung")}
        </dd>
      </div>
      <div>
        <dt>{t("storage.deleted")}</dt>
        <dd className={known ? "num" : classes.unknown}>
          {known ? t("storage.perDay", { size: bytes(forecast.removed_per_day) }) : t("storage.tooYoung")}
        </dd>
      </div>
      <div>
        <dt>{t("storage.full")}</dt>
        <dd className={known ? undefined : classes.unknown}>
          {!known
            ? t("storage.tooYoung")
            : forecast.full_at
              ? time.iso(forecast.full_at).slice(0, 10)
              : t("storage.never")}
        </dd>
      </div>
    </dl>
  );
}

/** Rows against bytes: what has no row can go, what has no bytes is lost. */
function Whole({ storage }: { storage: StorageRead }) {
  const { t } = useTranslation();
  const { checked, looking, waiting } = storage;
  const check = useAction(() => post("/storage/looks", { kind: "check" }), [STORAGE]);
  const mend = useAction(
    () => post("/storage/mend", {}),
    [STORAGE],
    () => check.mutate(undefined),
  );
  return (
    <Panel
      title={t("storage.whole")}
      aside={
        <Button
          size="compact-sm"
          variant="default"
          loading={check.isPending || looking.includes("check")}
          onClick={() => check.mutate(undefined)}
        >
          {t("storage.check")}
        </Button>
      }
    >
      <p className={classes.text}>{t("storage.wholeText")}</p>
      <ErrorLine error={check.error ?? mend.error} />
      {checked ? (
        <dl className={classes.outlook}>
          <div>
            <dt>{t("storage.checked")}</dt>
            <dd>
              <Ago at={checked.at} />
              {": "}
              <span className="num">
                {t("storage.files", { count: checked.files, shown: count(checked.files) })}
              </span>
            </dd>
          </div>
          <div>
            <dt>{t("storage.orphans")}</dt>
            <dd>
              <span className="num">
                {count(checked.orphans.count)} ({bytes(checked.orphans.bytes)})
              </span>{" "}
              {checked.orphans.count > 0 && (
                <Button
                  size="compact-xs"
                  variant="default"
                  loading={mend.isPending}
                  onClick={() => mend.mutate(undefined)}
                >
                  {t("storage.mend")}
                </Button>
              )}
            </dd>
          </div>
          <div>
            <dt>{t("storage.lost")}</dt>
            <dd className={checked.lost.count > 0 ? classes.low : undefined}>
              <span className="num">{count(checked.lost.count)}</span>{" "}
              {checked.lost.count > 0 && t("storage.lostText")}
            </dd>
          </div>
          <div>
            <dt>{t("storage.waiting")}</dt>
            <dd className="num">{count(waiting)}</dd>
          </div>
        </dl>
      ) : (
        <p className={classes.unknown}>{t("storage.unchecked")}</p>
      )}
    </Panel>
  );
}
