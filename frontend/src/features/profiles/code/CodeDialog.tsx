import { Button, Loader } from "@mantine/core";
import { Download, Flame } from "lucide-react";
import { useMemo, useRef, useState } from "react";
import type { DisassemblyListing, Profile } from "../../../client/models";
import { Dialog } from "../../../components/Dialog";
import { ErrorLine, QueryContent } from "../../../components/EmptyState";
import { moduleName } from "../../../core/profiles/colors";
import { findHottest, listHottestLines } from "../../../core/profiles/instructions";
import { formatBytes, formatCount, formatPercent } from "../../../core/text/format";
import { useMessage } from "../../../lib/text/i18n";
import { useTranslation } from "../../../lib/text/useTranslation";
import { type Disassembly, isBeingBuilt, isBeingFetched, useDisassembly, useFetchCode } from "../api";
import classes from "./Code.module.css";
import { InstructionTable } from "./InstructionTable";

const HOTTEST_LINES = 5;

interface Props {
  profile: Profile;
  name: string;
  /** Path of the module of the function, "" if it is not known. */
  module: string;
  onClose(): void;
}

/** Instructions of one function with the samples of each, and its source lines. */
export function CodeDialog({ profile, name, module, onClose }: Props) {
  const { t } = useTranslation();
  const query = useDisassembly(profile.id, name, module);
  return (
    <Dialog
      size="min(1200px, 96vw)"
      title={
        <span className={classes.title} title={name}>
          {name}
        </span>
      }
      onClose={onClose}
    >
      <QueryContent query={query} skeleton={<Waiting text={t("profile.code.building")} />}>
        {(data) => <CodeContent profile={profile} data={data} />}
      </QueryContent>
    </Dialog>
  );
}

function Waiting({ text }: { text: string }) {
  return (
    <p className={classes.waiting} role="status">
      <Loader size={14} /> {text}
    </p>
  );
}

function CodeContent({ profile, data }: { profile: Profile; data: Disassembly }) {
  const { t } = useTranslation();
  const formatMessage = useMessage();
  if (data.state === "failed")
    return (
      <p className={classes.notice} role="alert">
        {formatMessage(data.failure)}
      </p>
    );
  const { listing } = data;
  if (!listing) return <Waiting text={t("profile.code.building")} />;
  return (
    <>
      <Summary profile={profile} listing={listing} />
      <CodeNotice profile={profile} data={data} listing={listing} />
      <Listing listing={listing} />
    </>
  );
}

/** What was counted: samples with units, the address and size of the function, and what the counts mean. */
function Summary({ profile, listing }: { profile: Profile; listing: DisassemblyListing }) {
  const { t } = useTranslation();
  const share = listing.samples > 0 ? listing.function_samples / listing.samples : 0;
  const between = listing.function_samples - listing.counted_samples;
  return (
    <div className={classes.summary}>
      <p>
        {t("profile.code.counted", {
          samples: formatCount(listing.function_samples),
          share: formatPercent(share),
          all: formatCount(listing.samples),
          event: profile.event,
        })}{" "}
        {!listing.cut && between > 0 && t("profile.code.between", { samples: formatCount(between) })}
        {listing.cut && t("profile.code.cut", { samples: formatCount(between) })}
      </p>
      <p className="dim">
        <span className="mono" title={listing.module}>
          {moduleName(listing.module)}
        </span>{" "}
        · {t("profile.code.address")} <span className="num">0x{listing.address}</span>
        {listing.size > 0 && (
          <>
            {" "}
            · <span className="num">{formatBytes(listing.size)}</span>
          </>
        )}
      </p>
      <p className="dim">{t("profile.code.skid")}</p>
      {listing.others.length > 0 && (
        <p className="dim">
          {t("profile.code.others", {
            names: listing.others
              .map((other) => `${moduleName(other.module)} (${formatCount(other.samples)})`)
              .join(", "),
          })}
        </p>
      )}
    </div>
  );
}

/** Why there are no instructions or lines, and the action that gets them. */
function CodeNotice({
  profile,
  data,
  listing,
}: {
  profile: Profile;
  data: Disassembly;
  listing: DisassemblyListing;
}) {
  const { t } = useTranslation();
  const formatMessage = useMessage();
  const fetch = useFetchCode(profile.id, data);
  const host = profile.host?.name ?? "";
  if (isBeingFetched(data)) return <Waiting text={t("profile.code.fetching", { host })} />;
  if (isBeingBuilt(data)) return <Waiting text={t("profile.code.building")} />;
  if (!listing.code_reason)
    return listing.lines_reason ? (
      <p className={classes.hint}>{formatMessage(listing.lines_reason)}</p>
    ) : null;
  return (
    <div className={classes.notice}>
      <p>{formatMessage(listing.code_reason)}</p>
      {data.fetch_state === "failed" && data.fetch_failure && (
        <p role="alert">
          {t("profile.code.fetchFailed", { host, reason: formatMessage(data.fetch_failure) })}
        </p>
      )}
      {data.can_fetch && (
        <>
          <p className="dim">{t("profile.code.fetchHint")}</p>
          <Button
            size="xs"
            variant="default"
            leftSection={<Download size={14} />}
            loading={fetch.isPending}
            onClick={() => fetch.mutate()}
          >
            {t("profile.code.fetch", { host })}
          </Button>
          <ErrorLine error={fetch.error} />
        </>
      )}
    </div>
  );
}

function Listing({ listing }: { listing: DisassemblyListing }) {
  const { t } = useTranslation();
  const [open, setOpen] = useState<ReadonlySet<number>>(new Set());
  const area = useRef<HTMLDivElement>(null);
  const hottest = useMemo(() => findHottest(listing.instructions), [listing]);
  const lines = useMemo(() => listHottestLines(listing, HOTTEST_LINES), [listing]);
  const reveal = () =>
    area.current?.querySelector("[data-hottest]")?.scrollIntoView({ block: "center", inline: "nearest" });
  return (
    <>
      <div className={classes.bar}>
        {lines.length > 0 && (
          <ul aria-label={t("profile.code.lines")}>
            {lines.map(({ file, line, samples }) => (
              <li key={`${file}:${line}`} title={file}>
                <span className="mono">
                  {moduleName(file)}:{line}
                </span>{" "}
                <span className="num">{formatPercent(samples / Math.max(1, listing.function_samples))}</span>
              </li>
            ))}
          </ul>
        )}
        <Button
          size="xs"
          variant="default"
          leftSection={<Flame size={14} />}
          disabled={hottest === undefined}
          onClick={reveal}
        >
          {t("profile.code.toHottest")}
        </Button>
      </div>
      <div ref={area}>
        <InstructionTable
          listing={listing}
          hottest={hottest}
          open={open}
          onOpen={(first) => setOpen(new Set([...open, first]))}
        />
      </div>
    </>
  );
}
