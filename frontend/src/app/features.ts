import { manifest as calls } from "../features/calls/manifest";
import { manifest as captures } from "../features/captures/manifest";
import { manifest as diagnoses } from "../features/diagnoses/manifest";
import { manifest as events } from "../features/events/manifest";
import { manifest as fleet } from "../features/fleet/manifest";
import { manifest as home } from "../features/home/manifest";
import { manifest as hosts } from "../features/hosts/manifest";
import { manifest as imports } from "../features/imports/manifest";
import { manifest as incidents } from "../features/incidents/manifest";
import { manifest as notifications } from "../features/notifications/manifest";
import { manifest as oncall } from "../features/oncall/manifest";
import { manifest as playbooks } from "../features/playbooks/manifest";
import { manifest as profiles } from "../features/profiles/manifest";
import { manifest as reports } from "../features/reports/manifest";
import { manifest as rules } from "../features/rules/manifest";
import { manifest as runs } from "../features/runs/manifest";
import { manifest as schedules } from "../features/schedules/manifest";
import { manifest as services } from "../features/services/manifest";
import { manifest as settings } from "../features/settings/manifest";
import { manifest as triggers } from "../features/triggers/manifest";
import { manifest as watchers } from "../features/watchers/manifest";
import { manifest as whatChanged } from "../features/what-changed/manifest";
import type { FeatureManifest } from "../lib/manifest";

/** Features of the application, in the order of the navigation. */
export const FEATURES = {
  home,
  incidents,
  hosts,
  fleet,
  captures,
  diagnoses,
  services,
  profiles,
  oncall,
  schedules,
  triggers,
  notifications,
  events,
  playbooks,
  rules,
  settings,
  runs,
  calls,
  reports,
  watchers,
  whatChanged,
  imports,
} as const satisfies Record<string, FeatureManifest>;

export const MANIFESTS: readonly FeatureManifest[] = Object.values(FEATURES);

/** Manifests with the folders of their features. */
export const MANIFESTS_BY_FOLDER: readonly (readonly [string, FeatureManifest])[] = Object.entries(
  FEATURES,
).map(([name, manifest]) => [name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`), manifest]);
