import type { Profile } from "../../client/models";
import { StatusIcon } from "../../components/StatusIcon";
import { formatCount, formatDuration, formatPercent } from "../../core/text/format";
import { useTranslation } from "../../lib/text/useTranslation";

const FEW_SAMPLES = 500;
const HIGH_UNKNOWN_SHARE = 0.3;
const HIGH_LOST_SHARE = 0.01;

/** Quality of a profile: samples, duration, lost samples and unknown frames, with a warning for poor values. */
export function ProfileQuality({ profile }: { profile: Profile }) {
  const { t } = useTranslation();
  if (profile.state !== "ready") return null;
  const samples = profile.samples ?? 0;
  const lost = profile.lost ?? 0;
  const lostShare = lost / Math.max(1, samples + lost);
  const unknown = profile.unknown_share;
  const spanNs = profile.t0_ns !== null && profile.t1_ns !== null ? profile.t1_ns - profile.t0_ns : null;
  return (
    <>
      <QualityFact
        name={t("profile.samples")}
        value={formatCount(samples)}
        poor={samples < FEW_SAMPLES && t("profile.fewSamples")}
      />
      {spanNs !== null && <QualityFact name={t("profile.span")} value={formatDuration(spanNs)} />}
      <QualityFact
        name={t("profile.lost")}
        value={formatCount(lost)}
        poor={lostShare > HIGH_LOST_SHARE && t("profile.manyLost")}
      />
      <QualityFact
        name={t("profile.unknown")}
        value={formatPercent(unknown)}
        poor={unknown !== null && unknown > HIGH_UNKNOWN_SHARE && t("profile.manyUnknown")}
      />
      <span className="mono dim">{profile.event}</span>
    </>
  );
}

function QualityFact({ name, value, poor = false }: { name: string; value: string; poor?: string | false }) {
  const text = (
    <>
      {name} <span className="num">{value}</span>
    </>
  );
  return poor ? (
    <StatusIcon tone="warn" title={poor}>
      {text}
    </StatusIcon>
  ) : (
    <span>{text}</span>
  );
}
