import { useParams } from "@tanstack/react-router";
import { useEffect } from "react";
import { BlockSkeleton, EmptyState } from "../../components/EmptyState";
import { ButtonLink, Link } from "../../components/Link";
import { LoadingPage } from "../../components/LoadingPage";
import { Page, Panel } from "../../components/Page";
import { RunStateIcon, StatusIcon } from "../../components/StatusIcon";
import { formatRange } from "../../core/time/range";
import { useMessage } from "../../lib/text/i18n";
import { useTranslation } from "../../lib/text/useTranslation";
import { useTimeState } from "../../lib/urlState";
import { removeEarlyFlame } from "../../widgets/flame-graph/earlyFlame";
import { SchedulerPanel } from "../../widgets/scheduler/SchedulerPanel";
import { useProfile } from "./api";
import { ExportMenu } from "./ExportMenu";
import { ProfilePanel } from "./ProfilePanel";
import { ProfileQuality } from "./ProfileQuality";
import { KindNote } from "./panel/KindNote";

/** Page of a profile: its origin, its quality, and the profile panel. */
export function ProfilePage() {
  const { profileId } = useParams({ strict: false }) as { profileId: string };
  const { t } = useTranslation();
  const formatMessage = useMessage();
  const query = useProfile(profileId);
  const profile = query.data;
  const isFailed = query.isError || profile?.state === "failed";
  // The early picture would stay below the error until its time is over.
  useEffect(() => {
    if (isFailed) removeEarlyFlame();
  }, [isFailed]);
  if (!profile)
    return (
      <LoadingPage
        title={t("profile.title")}
        above={<Link to="/profiles">{t("nav.profiles")}</Link>}
        query={query}
        actionsWidth={90}
      >
        <BlockSkeleton height={640} />
      </LoadingPage>
    );
  const kind = t(`profile.kind.${profile.kind}` as "profile.kind.on_cpu", { defaultValue: profile.kind });
  return (
    <Page
      title={`${kind} · ${profile.host?.name ?? profile.label ?? t("profile.imported")}`}
      above={<ProfileHeader hostId={profile.host?.id} hostName={profile.host?.name} runId={profile.run_id} />}
      meta={<ProfileQuality profile={profile} />}
      actions={profile.state === "ready" && profile.kind !== "sched" && <ExportMenu profile={profile} />}
    >
      {(profile.state === "queued" || profile.state === "running") && (
        <Panel>
          <EmptyState title={<RunStateIcon state={profile.state} />}>
            {t(`profile.waiting.${profile.state}`)}
          </EmptyState>
        </Panel>
      )}
      {profile.state === "failed" && (
        <Panel>
          <EmptyState
            title={<StatusIcon tone="bad">{t("profile.failed")}</StatusIcon>}
            action={
              <ButtonLink variant="default" to="/runs/$runId" params={{ runId: profile.run_id }}>
                {t("profile.openRun")}
              </ButtonLink>
            }
          >
            {formatMessage(profile.failure)}
          </EmptyState>
        </Panel>
      )}
      {profile.state === "ready" &&
        (profile.kind === "sched" ? (
          <SchedulerPanel runId={profile.run_id} profileId={profile.id} hostId={profile.host?.id} hasKeys />
        ) : (
          <>
            <KindNote profile={profile} />
            <ProfilePanel profile={profile} />
          </>
        ))}
    </Page>
  );
}

function ProfileHeader(props: { hostId: string | undefined; hostName: string | undefined; runId: string }) {
  const { t } = useTranslation();
  const [{ b }] = useTimeState();
  return (
    <>
      {props.hostId && (
        <>
          <Link
            to="/hosts/$hostId"
            params={{ hostId: props.hostId }}
            search={b ? { b: formatRange(b) } : {}}
            title={b && t("profile.sameTime")}
          >
            {props.hostName}
          </Link>
          {" / "}
        </>
      )}
      <Link to="/runs/$runId" params={{ runId: props.runId }}>
        {t("profile.run")}
      </Link>
    </>
  );
}
