import { useTranslation } from "react-i18next";
import type { Call, CallSegment, RunCalls } from "../../client/types";
import { Mark } from "../../components/Mark";
import { curve, GAP, type Hop, heightOf, MOST_DRAWN, type Strand, strands } from "../../core/callpath";
import { bytes, count, milliseconds, NO_VALUE, number, percent } from "../../core/format";
import { useSentence } from "../../lib/i18n";
import { Cited } from "../findings/Place";
import classes from "./Calls.module.css";
import { GoOn } from "./GoOn";
import { useCallNames } from "./useCallNames";

interface Props {
  calls: RunCalls;
  /** Where one came from, up to this process: it goes along with every link. */
  trail: readonly Hop[];
}

/** Who calls, the process, whom it calls: from left to right; on a narrow screen from top to bottom. */
export function CallGraph({ calls, trail }: Props) {
  const { t } = useTranslation();
  const { process } = useCallNames();
  const into = calls.into.slice(0, MOST_DRAWN);
  const out = calls.out.slice(0, MOST_DRAWN);
  const segments = calls.split?.segments ?? [];
  const height = heightOf(Math.max(into.length, out.length));
  const own = segments.find((one) => one.call === "");
  return (
    <div className={classes.graph} style={{ "--gap": `${GAP}px` } as never}>
      <Column label={t("calls.callers")} calls={into} all={calls.into.length} trail={trail} segments={[]} />
      <Strands of={strands(into, [], "in", height)} calls={into} height={height} />
      <div className={classes.column}>
        <div className={classes.self}>
          <h3 className={classes.name}>
            {calls.pid === null && !calls.comm
              ? (calls.host?.name ?? t("calls.everything"))
              : process(calls.comm, calls.pids)}
          </h3>
          {calls.host && (calls.pid !== null || calls.comm) && (
            <p className={classes.where}>{calls.host.name}</p>
          )}
          {own && (
            <p className={classes.numbers}>
              <Cited place={own.citations[0]} label={`${percent(own.share)} ${t("calls.ownShare")}`}>
                <span className="num">{percent(own.share)}</span> {t("calls.ownShare")}
              </Cited>
            </p>
          )}
        </div>
      </div>
      <Strands of={strands(out, segments, "out", height)} calls={out} height={height} />
      <Column
        label={t("calls.dependencies")}
        calls={out}
        all={calls.out.length}
        trail={trail}
        segments={segments}
      />
    </div>
  );
}

function Strands({ of, calls, height }: { of: Strand[]; calls: readonly Call[]; height: number }) {
  return (
    <svg
      className={classes.strands}
      viewBox={`0 0 100 ${height}`}
      style={{ height }}
      preserveAspectRatio="none"
      aria-hidden
    >
      {of.map((one, at) => (
        <path
          key={one.key}
          d={curve(one)}
          strokeWidth={one.width}
          className={classes.strand}
          data-kind={calls[at]?.place.kind}
          vectorEffect="non-scaling-stroke"
        />
      ))}
    </svg>
  );
}

interface ColumnProps {
  label: string;
  calls: readonly Call[];
  all: number;
  trail: readonly Hop[];
  segments: readonly CallSegment[];
}

function Column({ label, calls, all, trail, segments }: ColumnProps) {
  const { t } = useTranslation();
  return (
    <section className={classes.column} aria-label={label}>
      {calls.length === 0 && <p className={classes.nobody}>{t("calls.nobody")}</p>}
      <ul className={classes.boxes}>
        {calls.map((one) => (
          <Box key={one.key} call={one} trail={trail} segment={segments.find((s) => s.call === one.key)} />
        ))}
      </ul>
      {all > calls.length && <p className={classes.rest}>{t("calls.rest", { count: all - calls.length })}</p>}
    </section>
  );
}

function Box({
  call,
  trail,
  segment,
}: {
  call: Call;
  trail: readonly Hop[];
  segment?: CallSegment | undefined;
}) {
  const { t } = useTranslation();
  const sentence = useSentence();
  const names = useCallNames();
  const { place } = call;
  const connections = call.connections === null ? NO_VALUE : count(call.connections);
  const known = place.kind === "process" || place.kind === "unix" || place.kind === "host";
  return (
    <li className={classes.box} data-kind={place.kind}>
      <div className={classes.boxHead}>
        <strong className={classes.name} title={names.other(call)}>
          {names.other(call)}
        </strong>
        <GoOn call={call} trail={trail} />
      </div>
      <p className={classes.where} title={place.why ? sentence(place.why) : undefined}>
        {known ? names.where(call) : <Mark tone="idle">{names.where(call)}</Mark>}
        {place.comm && <span className="mono dim">{names.address(call)}</span>}
        {call.direction === "in" && call.port !== null && (
          <span className="dim">{t("calls.toPort", { port: call.port })}</span>
        )}
      </p>
      <p className={classes.numbers}>
        <Cited place={call.citations[0]} label={`${connections} ${t("calls.connections")}`}>
          <span className="num">{connections}</span> {t("calls.connections")}
        </Cited>
        {call.rtt_mean_ms !== null && (
          <span>
            {t("calls.rtt")} <span className="num">{milliseconds(call.rtt_mean_ms)}</span>
          </span>
        )}
        {(call.send_queue_bytes ?? 0) > 0 && (
          <span className={classes.warn}>
            {t("calls.queue")} <span className="num">{bytes(call.send_queue_bytes)}</span>
          </span>
        )}
        {(call.retransmitting ?? 0) > 0 && (
          <span className={classes.warn}>
            {t("calls.retransmitting", { count: call.retransmitting ?? 0 })}
          </span>
        )}
        {(call.syn_sent ?? 0) > 0 && (
          <span className={classes.warn}>{t("calls.unanswered", { count: call.syn_sent ?? 0 })}</span>
        )}
        {segment ? (
          <Cited place={segment.citations[0]} label={`${percent(segment.share)} ${t("calls.ofTime")}`}>
            <span className="num">{percent(segment.share)}</span> {t("calls.ofTime")}
          </Cited>
        ) : (
          call.waiting !== null &&
          call.waiting > 0 && (
            <span>
              <span className="num">{number(call.waiting)}</span> {t("calls.waiting")}
            </span>
          )
        )}
      </p>
    </li>
  );
}
