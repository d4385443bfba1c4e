/**
 * Our names for the server's answers must exist in what the server says it answers. Where a field is renamed
 * or dropped there, the types fail here, before a screen shows a hole.
 */
import type { components } from "./schema";
import type * as Ours from "./types";

type Theirs = components["schemas"];

type Required<T> = { [K in keyof T]-?: undefined extends T[K] ? never : K }[keyof T];
/** The names that we rely on and the server does not know. */
type Missing<T, S> = Exclude<Required<T>, keyof S>;
type None<T extends never> = T;

export type Agreed = [
  None<Missing<Ours.Me, Theirs["Me"]>>,
  None<Missing<Ours.User, Theirs["UserRead"]>>,
  None<Missing<Ours.ApiToken, Theirs["TokenRead"]>>,
  None<Missing<Ours.AuditEntry, Theirs["AuditRead"]>>,
  None<Missing<Ours.Credential, Theirs["CredentialRead"]>>,
  None<Missing<Ours.NetworkRule, Theirs["NetworkRuleRead"]>>,
  None<Missing<Ours.Host, Theirs["HostRead"]>>,
  None<Missing<Ours.ScannedKey, Theirs["ScannedKey"]>>,
  None<Missing<Ours.Preflight, Theirs["PreflightRead"]>>,
  None<Missing<Ours.Preview, Theirs["PreviewRead"]>>,
  None<Missing<Ours.Capture, Theirs["CaptureRead"]>>,
  None<Missing<Ours.Run, Theirs["RunRead"]>>,
  None<Missing<Ours.SeriesSummary, Theirs["SeriesRead"]>>,
  None<Missing<Ours.Timeline, Theirs["TimelineRead"]>>,
  None<Missing<Ours.TimelineOverview, Theirs["OverviewRead"]>>,
  None<Missing<Ours.Lane, Theirs["culprit__timeline__schemas__LaneRead"]>>,
  None<Missing<Ours.CaptureBlock, Theirs["CaptureBlock"]>>,
  None<Missing<Ours.Citation, Theirs["CiteRead"]>>,
  None<Missing<Ours.Lines, Theirs["LinesRead"]>>,
  None<Missing<Ours.Profile, Theirs["ProfileRead"]>>,
  None<Missing<Ours.Finding, Theirs["FindingRead"]>>,
  None<Missing<Ours.FindingNumber, Theirs["NumberRead"]>>,
  None<Missing<Ours.Cited, Theirs["CitationRead"]>>,
  None<Missing<Ours.Evidence, Theirs["EvidenceRead"]>>,
  None<Missing<Ours.CauseNamed, Theirs["CauseNamed"]>>,
  None<Missing<Ours.Ranking, Theirs["RankingRead"]>>,
  None<Missing<Ours.RunFindings, Theirs["RunFindingsRead"]>>,
  None<Missing<Ours.HostFindings, Theirs["HostFindingsRead"]>>,
  None<Missing<Ours.Rule, Theirs["RuleRead"]>>,
  None<Missing<Ours.RuleLimit, Theirs["LimitRead"]>>,
  None<Missing<Ours.Cause, Theirs["CauseRead"]>>,
  None<Missing<Ours.Threshold, Theirs["ThresholdRead"]>>,
  None<Missing<Ours.Diagnosis, Theirs["DiagnosisRead"]>>,
  None<Missing<Ours.DiagnosisStage, Theirs["StageRead"]>>,
  None<Missing<Ours.Service, Theirs["ServiceRead"]>>,
  None<Missing<Ours.QueryResult, Theirs["QueryResult"]>>,
  None<Missing<Ours.PlaybookSummary, Theirs["PlaybookSummary"]>>,
  None<Missing<Ours.Playbook, Theirs["PlaybookRead"]>>,
  None<Missing<Ours.Hypothesis, Theirs["HypothesisRead"]>>,
  None<Missing<Ours.PlaybookStep, Theirs["StepRead"]>>,
  None<Missing<Ours.PlaybookCard, Theirs["CardRead"]>>,
  None<Missing<Ours.PlaybookCheck, Theirs["CheckRead"]>>,
  None<Missing<Ours.PlaybookChain, Theirs["ChainRead"]>>,
  None<Missing<Ours.StepAnswer, Theirs["AnswerRead"]>>,
  None<Missing<Ours.HypothesisStand, Theirs["StandRead"]>>,
  None<Missing<Ours.RunCalls, Theirs["CallsRead"]>>,
  None<Missing<Ours.Call, Theirs["CallRead"]>>,
  None<Missing<Ours.CallPlace, Theirs["CallPlace"]>>,
  None<Missing<Ours.CallEnds, Theirs["CallEnds"]>>,
  None<Missing<Ours.CallSplit, Theirs["CallSplit"]>>,
  None<Missing<Ours.CallSegment, Theirs["CallSegment"]>>,
  None<Missing<Ours.HostContext, Theirs["ContextRead"]>>,
  None<Missing<Ours.ContextItem, Theirs["ContextItem"]>>,
  None<Missing<Ours.ContextTwin, Theirs["ContextTwin"]>>,
];
