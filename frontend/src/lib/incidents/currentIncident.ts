/** Last incident and step viewed in this tab, in sessionStorage. It is the default target of new pins. */

const KEY = "culprit.incident";

export interface CurrentIncident {
  readonly incident: string;
  readonly step: string;
}

export function rememberIncident(current: CurrentIncident): void {
  try {
    sessionStorage.setItem(KEY, JSON.stringify(current));
  } catch {
    // Without storage, the list of incidents has no default.
  }
}

export function getCurrentIncident(): CurrentIncident | undefined {
  try {
    const stored = JSON.parse(sessionStorage.getItem(KEY) ?? "null") as Partial<CurrentIncident> | null;
    return stored?.incident ? { incident: stored.incident, step: stored.step ?? "" } : undefined;
  } catch {
    return undefined;
  }
}
