// Code generated from openapi.json by "go generate ./api"; DO NOT EDIT.

/**
 * ABIRange is the inclusive range of ABI versions a module works with.
 */
export interface ABIRange {
  min: string;
  max: string;
}

/**
 * Action is the answer to a form or URL.
 */
export type Action = "accept" | "decline" | "cancel";

/**
 * Interaction is one thing the agent asks. Key identifies it: for RouteNative any string the binding chooses, unique within the generation; for RouteFollowUp it must be made of native session, native turn and native item, so that it survives generations (rule 13).
 */
export interface AgentInteraction {
  key: string;
  /**
   * Type decides which of the members below are used.
   */
  type: InteractionType;
  /**
   * Token is the token of the pending request, for RouteNative.
   */
  token?: string;
  route: AgentRoute;
  /**
   * Blocking: the agent waits for the answer.
   */
  blocking?: boolean;
  scope?: Scope;
  /**
   * Turn is our turn id, empty when the agent asks outside of one.
   */
  turn?: string;
  native_session?: string;
  native_turn?: string;
  native_item?: string;
  title?: string;
  /**
   * Text is shown in full to the person: a reason, a message.
   */
  text?: string;
  /**
   * Command is the whole command line of a permission request.
   */
  command?: string;
  /**
   * Cwd is where the command would run.
   */
  cwd?: string;
  /**
   * Tool classifies a permission request: "execute", "edit", "read", "fetch", "mcp" or "other".
   */
  tool?: string;
  /**
   * Fields are the questions of an InteractionQuestion.
   */
  fields?: Field[];
  /**
   * Decisions are what the request offers, nothing else (C7).
   */
  decisions?: Decision[];
  /**
   * Schema is the JSON Schema of a form, as the provider sent it.
   */
  schema?: unknown;
  /**
   * URL is to be opened after consent.
   */
  url?: string;
  /**
   * Detail is native data worth showing, as it stands: a diff, a rule.
   */
  detail?: unknown;
  /**
   * Continues is the key of an interaction of this turn that a person has answered, where the harness asks for the rest of that answer in a request of its own: a question or form then gets the same reply at once and is not shown. It is shown like any other when nobody answered the one it names.
   */
  continues?: string;
}

/**
 * Launch says how to start the harness, as data.
 */
export interface AgentLaunch {
  /**
   * Argv is the command and its arguments. "{cwd}" is replaced inside a word.
   */
  argv: string[];
  /**
   * PermissionArgv are arguments added for a permission. Where the next turn's permission has others than the process, the host starts another one first (rule 7).
   */
  permission_argv?: PermissionArgs[];
  /**
   * Env lists the variables passed through, besides the host's base list. A trailing * matches a prefix.
   */
  env?: string[];
  /**
   * SetEnv are variables set to fixed values, to turn off update checks.
   */
  set_env?: EnvValue[];
  /**
   * HomeVar is the variable that names the harness's own folder.
   */
  home_var?: string;
  /**
   * HomeDir is that folder where the variable is not set, relative to the home directory of the user.
   */
  home_dir?: string;
  /**
   * Facts are variables of which only "is it set" enters the sandbox.
   */
  facts?: EnvFact[];
  /**
   * SignIn is the command a person runs to sign in.
   */
  sign_in?: string[];
  /**
   * SignedIn is what shows an earlier sign-in by being there.
   */
  signed_in?: SignInTraces;
  /**
   * StopEndsProcess: stop ends the process when the turn does not end by itself (rule 22).
   */
  stop_ends_process?: boolean;
  /**
   * InstallHint is the sentence shown when the command in argv is not found.
   */
  install_hint?: string;
  /**
   * VersionArgv prints the harness's version and ends. It is run when a person asks for a diagnosis, without standard input and for a few seconds at most.
   */
  version_argv?: string[];
}

/**
 * Problem is something that keeps a wish from being in force. A problem with the same code and field replaces the one before; Resolved takes it back.
 */
export interface AgentProblem {
  /**
   * Code is a stable code.
   */
  code: string;
  /**
   * Field is the setting it is about: "mode", "permission", "model", "effort", an option's id or "session".
   */
  field?: string;
  /**
   * Message is for a person.
   */
  message?: string;
  needs?: Needs;
  resolved?: boolean;
}

/**
 * Route is how an answer reaches the agent (rule 11).
 * - `native`: the answer is the reply to a pending request.
 * - `follow-up`: the answer is a message through the durable queue.
 */
export type AgentRoute = "native" | "follow-up";

/**
 * AgentTurn is a turn the agent began by itself.
 */
export interface AgentTurn {
  native_turn?: string;
  running: boolean;
  status?: TurnStatus;
}

/**
 * Answer is a person's answer to a card. Secret texts are given here in the clear; they go to the pipe and nowhere else (rule 16).
 */
export interface Answer {
  /**
   * Fields answer a question; a field without an entry is unanswered.
   */
  fields?: FieldAnswer[];
  /**
   * Decision is the id of an offered decision, Feedback a text with it.
   */
  decision?: string;
  feedback?: string;
  /**
   * Action and Content answer a form or URL.
   */
  action?: Action;
  content?: unknown;
}

/**
 * AnswerState tells an answered field from a skipped one (rule 10, C5).
 * - `answered`: Selected and Other say what; both empty on a multi-select field means "none of them".
 * - `skipped`: the person chose not to answer this field.
 */
export type AnswerState = "answered" | "skipped";

/**
 * Applies says when a changed option takes effect.
 * - `live`: at once, in the running turn too.
 * - `next-turn`: with the next turn.
 * - `relaunch`: with the next process.
 */
export type Applies = "live" | "next-turn" | "relaunch";

/**
 * BindingCheck is the binding that a harness would use.
 */
export interface BindingCheck {
  version: string;
  digest: string;
  built_in: boolean;
  path?: string;
  /**
   * Tested are the provider versions it was tested with; it is expected to fit Min to Max.
   */
  tested: string[];
  min: string;
  max: string;
}

/**
 * Capabilities is what the live session advertises.
 */
export interface Capabilities {
  /**
   * Resume: an earlier session can be restored.
   */
  resume?: boolean;
  /**
   * Fork: a session can be branched.
   */
  fork?: boolean;
  /**
   * Images: image content is taken.
   */
  images?: boolean;
  /**
   * AsyncQuestions: it can ask without waiting for the answer.
   */
  async_questions?: boolean;
  /**
   * ContextUsage: it tells how much of the context is used.
   */
  context_usage?: boolean;
  steering?: Steering;
  /**
   * ProvesDelivery: the harness returns our client message ids in its history.
   */
  proves_delivery?: boolean;
}

/**
 * Catalog is what a live session offers. It is never stored (rule 9).
 */
export interface Catalog {
  modes?: ModeChoice[];
  permissions?: PermissionChoice[];
  models?: ModelChoice[];
  /**
   * Efforts are offered whatever the model, when the harness has no list per model.
   */
  efforts?: Choice[];
  options?: OptionChoice[];
}

/**
 * CatalogState says whether the catalog is known.
 */
export type CatalogState = "unread" | "read";

/**
 * ChangesRequest asks for changes of a plan.
 */
export interface ChangesRequest {
  /**
   * Revision is the revision that was read; another one is refused.
   */
  revision: number;
  feedback: string;
  client_id?: string;
}

/**
 * Channel is what a delta adds to.
 * - `text`: the answer.
 * - `reasoning`: what the model thinks aloud.
 * - `plan`: a plan being written.
 * - `output`: what a command prints.
 */
export type Channel = "text" | "reasoning" | "plan" | "output";

/**
 * Choice is one native value a person can choose.
 */
export interface Choice {
  id: string;
  name?: string;
  description?: string;
}

/**
 * Code is a stable error code.
 */
export type Code = "stale_revision" | "unknown_conversation" | "conversation_deleted" | "unfinished_work" | "unknown_harness" | "unknown_turn" | "unknown_interaction" | "unknown_proposal" | "unknown_mode" | "unknown_permission" | "unknown_model" | "unknown_effort" | "unknown_option" | "interaction_stale" | "interaction_answered" | "answer_shape" | "answer_option" | "secret_follow_up" | "proposal_closed" | "empty_message" | "message_too_large" | "content_unsupported" | "turn_not_queued" | "turn_changed" | "turn_fixed" | "turn_not_retryable" | "retry_repeats_work" | "turn_not_running" | "nothing_running" | "client_id_reused" | "harness_not_found" | "harness_interpreter_missing" | "launch_failed" | "harness_exited" | "start_slow" | "start_aborted" | "provider_version" | "sign_in_needed" | "working_directory_missing" | "working_directory_not_a_directory" | "working_directory_changed" | "binding_fault" | "binding_quarantined" | "binding_not_allowed" | "module_truncated" | "module_foreign" | "module_component" | "module_invalid" | "manifest_missing" | "manifest_invalid" | "abi_unsupported" | "schemas_invalid" | "schemas_missing" | "outbound_schema" | "native_session_taken" | "store_locked" | "store_read_only" | "store_full" | "store_newer" | "store_corrupt" | "store_older" | "disk_low" | "login_environment_unavailable" | "login_environment_slow" | "sign_in_unproven" | "provider_version_unread" | "store_failed" | "unsupported_platform" | "resync" | "host_closed" | "invalid_argument" | "unknown_route" | "method_not_allowed" | "unsupported_media_type" | "foreign_request" | "host_unreachable" | "agent_origin" | "foreign_user" | "unauthorized" | "version_mismatch" | "daemon_not_started" | "socket_unusable" | "exit_unproven" | "uncertain_delivery" | "session_replaced" | "stop_unanswered" | "reply_refused" | "call_refused" | "schema_violation" | "line_skipped" | "too_many_requests" | "too_many_calls" | "relaunch" | "harness_replaced" | "permission_differs" | "delivery_rejected" | "not_sent" | "not_in_force" | "stopped" | "provider_outage" | "closed" | "deletion";

/**
 * CodeInfo is one row of the table of codes.
 */
export interface CodeInfo {
  code: Code;
  text: string;
}

/**
 * Command is one slash command.
 */
export interface Command {
  /**
   * Name is the command without the slash.
   */
  name: string;
  description?: string;
  /**
   * Hint describes its argument.
   */
  hint?: string;
}

/**
 * Commands is the list of slash commands the harness offers.
 */
export interface Commands {
  commands: Command[];
}

/**
 * Content is one block of a message: text, or an image or file with its bytes.
 */
export interface Content {
  type: ContentType;
  text?: string;
  media?: string;
  name?: string;
  /**
   * Bytes are given when sending; afterwards Digest ("sha256:…") names them.
   */
  bytes?: string;
  digest?: string;
}

/**
 * ContentType is the type of a content block.
 */
export type ContentType = "text" | "image" | "file";

/**
 * Controls is what a client shows beside the composer.
 */
export interface Controls {
  conversation: string;
  /**
   * Settings are the remembered ones, Revision theirs.
   */
  settings: Settings;
  revision: number;
  catalog_state: CatalogState;
  catalog?: Catalog;
  /**
   * Observed is what the provider says is in force, nil when unknown.
   */
  observed?: Observed;
  /**
   * Running is the frozen snapshot of the running turn.
   */
  running?: RunningTurn;
  session: Session;
  queue: Queue;
  problems?: AgentProblem[];
  /**
   * ContinueMode is set after a planning turn that proposed no plan: the execution mode to offer as the way on (rule 18).
   */
  continue_mode?: string;
  usage?: UsageView;
}

/**
 * Conversation is a durable chat bound to one harness and one directory.
 */
export interface Conversation {
  id: string;
  harness: string;
  cwd: string;
  title?: string;
  created_at: string;
  updated_at: string;
  settings: Settings;
  revision: number;
  native_session?: string;
  /**
   * LastSeq is the number of the newest event. The journal begins after JournalFloor: what was before was pruned.
   */
  last_seq: number;
  journal_floor?: number;
  queue: Queue;
}

/**
 * DataCheck is the state of the data folder.
 */
export interface DataCheck {
  dir: string;
  exists: boolean;
  /**
   * Usable: it is open, or could be opened.
   */
  usable: boolean;
  /**
   * Schema is the version of the data, Known the one of this program.
   */
  schema: number;
  known: number;
  data_bytes: number;
  log_bytes: number;
  backup_bytes: number;
  /**
   * FreeBytes is the room on its disk, -1 where it is not known.
   */
  free_bytes: number;
  /**
   * Holder is the process that has it open, 0 for none.
   */
  holder?: number;
  findings?: Finding[];
}

/**
 * Decision is one offered decision of a permission request or review.
 */
export interface Decision {
  /**
   * ID is the provider's id of the decision.
   */
  id: string;
  label: string;
  kind: DecisionKind;
  /**
   * Mode is the mode that follows when the decision is taken, if it sets one.
   */
  mode?: string;
  /**
   * Permission is the permission that follows.
   */
  permission?: Permission;
  /**
   * Feedback: a text may go with it.
   */
  feedback?: boolean;
}

/**
 * DecisionKind classifies a decision.
 * - `allow_once`: allows this one.
 * - `allow_always`: allows it and what is like it from now on.
 * - `reject_once`: rejects this one, the turn goes on.
 * - `reject_always`: rejects it and what is like it from now on.
 * - `cancel`: ends the turn.
 */
export type DecisionKind = "allow_once" | "allow_always" | "reject_once" | "reject_always" | "cancel";

/**
 * DeleteRequest says how far a deletion may go.
 */
export interface DeleteRequest {
  /**
   * Unfinished says that what is not finished may be lost too: what runs is stopped first, as Stop does it, and what waits goes with the rest.
   */
  unfinished?: boolean;
}

/**
 * Deleted is the conversation that was deleted.
 */
export interface Deleted {
  conversation: string;
}

/**
 * Delta is streamed text of an item. At the turn's end the items replace it.
 */
export interface Delta {
  turn?: string;
  /**
   * Item is the id of the item it adds to.
   */
  item: string;
  channel: Channel;
  text: string;
}

/**
 * DiagnoseOptions say what to look at.
 */
export interface DiagnoseOptions {
  /**
   * Harnesses are ids; none means every harness that there is a binding for.
   */
  harnesses?: string[];
  /**
   * Probe also starts each harness once, in an empty folder and with a data folder of its own, up to the point where it could take a message. No message is sent and no turn is begun. Without it only the command that prints the harness's version is run.
   */
  probe?: boolean;
  /**
   * Runtime also tells what the goroutines of an open host do, and the metrics of its Go runtime.
   */
  runtime?: boolean;
}

/**
 * Diagnosis is what a host finds out about itself and the machine. It holds no credential and no value of a variable but PATH and SHELL.
 */
export interface Diagnosis {
  at: string;
  version: string;
  abi: string;
  go: string;
  platform: string;
  /**
   * Host is the host that answers, nil when the folder was looked at from outside.
   */
  host?: HostCheck;
  data: DataCheck;
  environment: EnvironmentCheck;
  harnesses: HarnessCheck[];
  /**
   * Modules are those in the bindings folder that cannot be used, or not yet.
   */
  modules?: ModuleCheck[];
}

/**
 * Disposition is how an interaction ended; there is exactly one (rule 12).
 * - `answered`: a person answered and the agent has it.
 * - `skipped`: a person chose not to answer.
 * - `cancelled`: taken back by a stop, a steer or the end, or cancelled by a person.
 * - `expired`: nobody answered in time.
 * - `uncertain`: the answer may have reached the agent or not.
 */
export type Disposition = "answered" | "skipped" | "cancelled" | "expired" | "uncertain";

/**
 * EndEvent tells why a stream ends and where to go on.
 */
export interface EndEvent {
  /**
   * Code is host_closed, conversation_deleted, or resync when the journal does not go back as far any more.
   */
  code: Code;
  /**
   * After is the number of the last event that was written.
   */
  after: number;
}

/**
 * Enforcer names who holds the agent to a mode (rule 25).
 * - `harness`: the harness itself refuses what the mode forbids.
 * - `host`: the host declines requests that the mode forbids.
 * - `nobody`: the agent is only told.
 */
export type Enforcer = "harness" | "host" | "nobody";

/**
 * EnvFact names a fact and the variable it is about.
 */
export interface EnvFact {
  /**
   * Name is what the binding sees in its open event, [a-z][a-z0-9_]*.
   */
  name: string;
  /**
   * Env is the variable.
   */
  env: string;
}

/**
 * EnvValue sets a variable.
 */
export interface EnvValue {
  name: string;
  value: string;
}

/**
 * EnvironmentCheck is the environment that harnesses are started from.
 */
export interface EnvironmentCheck {
  source: EnvironmentSource;
  shell?: string;
  /**
   * TookMS is how long the shell took, in milliseconds.
   */
  took_ms?: number;
  /**
   * Path are the folders that commands are looked up in.
   */
  path: string[];
  findings?: Finding[];
}

/**
 * EnvironmentSource says where harnesses get their environment from.
 * - `given`: the product configured it.
 * - `login-shell`: the login shell was asked.
 * - `own`: the login shell could not tell, so it is that of the process.
 */
export type EnvironmentSource = "given" | "login-shell" | "own";

/**
 * One numbered entry of the journal; type says what the body is. A reader passes over types it does not know.
 */
export type Event = {
  seq: number;
  at: string;
  turn?: string;
  type: "conversation_created";
  body: Conversation;
} | {
  seq: number;
  at: string;
  turn?: string;
  type: "relocated";
  body: Relocation;
} | {
  seq: number;
  at: string;
  turn?: string;
  type: "settings";
  body: SettingsEvent;
} | {
  seq: number;
  at: string;
  turn?: string;
  type: "turn";
  body: Turn;
} | {
  seq: number;
  at: string;
  turn?: string;
  type: "queue";
  body: Queue;
} | {
  seq: number;
  at: string;
  turn?: string;
  type: "session";
  body: Session;
} | {
  seq: number;
  at: string;
  turn?: string;
  type: "catalog";
} | {
  seq: number;
  at: string;
  turn?: string;
  type: "observed";
  body: Observed;
} | {
  seq: number;
  at: string;
  turn?: string;
  type: "delta";
  body: Delta;
} | {
  seq: number;
  at: string;
  turn?: string;
  type: "item";
  body: Item;
} | {
  seq: number;
  at: string;
  turn?: string;
  type: "progress";
  body: Progress;
} | {
  seq: number;
  at: string;
  turn?: string;
  type: "interaction";
  body: Interaction;
} | {
  seq: number;
  at: string;
  turn?: string;
  type: "proposal";
  body: Proposal;
} | {
  seq: number;
  at: string;
  turn?: string;
  type: "usage";
  body: Usage;
} | {
  seq: number;
  at: string;
  turn?: string;
  type: "commands";
  body: Commands;
} | {
  seq: number;
  at: string;
  turn?: string;
  type: "session_info";
  body: SessionInfo;
} | {
  seq: number;
  at: string;
  turn?: string;
  type: "warning";
  body: Warning;
} | {
  seq: number;
  at: string;
  turn?: string;
  type: "problem";
  body: AgentProblem;
} | {
  seq: number;
  at: string;
  turn?: string;
  type: "agent_turn";
  body: AgentTurn;
};

/**
 * Field is one question of a group.
 */
export interface Field {
  /**
   * ID identifies the field within the interaction.
   */
  id: string;
  /**
   * Header is a short label.
   */
  header?: string;
  text: string;
  options?: Option[];
  /**
   * MultiSelect: any number of options may be chosen.
   */
  multi_select?: boolean;
  /**
   * Other: a text of the person's own is accepted instead of an option.
   */
  other?: boolean;
  /**
   * OtherBeside: the text is accepted beside options.
   */
  other_beside?: boolean;
  /**
   * Secret: the text is not to be shown while it is typed, nor stored.
   */
  secret?: boolean;
  /**
   * Required: it cannot be skipped.
   */
  required?: boolean;
}

/**
 * FieldAnswer answers one field.
 */
export interface FieldAnswer {
  /**
   * Field is the id of the field.
   */
  field: string;
  state: AnswerState;
  /**
   * Selected are option indexes, ascending.
   */
  selected?: number[];
  /**
   * HasOther is set when Other is meant, even if it is empty.
   */
  has_other?: boolean;
  /**
   * Other is the person's own text, or a placeholder for a secret.
   */
  other?: string;
}

/**
 * Finding is one thing that a diagnosis has to say.
 */
export interface Finding {
  severity: Severity;
  code: Code;
  /**
   * Text says what is the case, Advice what to do about it. Advice is left out where the text says it.
   */
  text: string;
  advice?: string;
}

/**
 * Framing describes the lines on the pipe.
 */
export interface Framing {
  /**
   * JSONRPC: frames carry the member "jsonrpc":"2.0".
   */
  jsonrpc: boolean;
}

/**
 * HarnessCheck is the state of one harness.
 */
export interface HarnessCheck {
  harness: string;
  title?: string;
  /**
   * Usable: nothing is known that keeps a conversation from working.
   */
  usable: boolean;
  binding?: BindingCheck;
  /**
   * Command is what starts it; Replaced: the configuration gives it, not the binding. Program is the file that its first word means.
   */
  command?: string[];
  replaced?: boolean;
  program?: string;
  /**
   * Version is what the program says about itself.
   */
  version?: string;
  fit?: VersionFit;
  /**
   * Schemas is the provider version whose schemas check its traffic.
   */
  schemas?: string;
  sign_in?: SignInCheck;
  probe?: ProbeCheck;
  findings?: Finding[];
}

/**
 * HostCheck is the state of an open host.
 */
export interface HostCheck {
  pid: number;
  /**
   * Conversations are those in memory, Sessions the provider processes.
   */
  conversations: number;
  sessions: number;
  goroutines: number;
  /**
   * HeapBytes is the memory in use, SystemBytes what was taken from the system.
   */
  heap_bytes: number;
  system_bytes: number;
  /**
   * Stacks are the goroutines, alike ones counted, and Metrics the numbers of the Go runtime by their names there; both only when asked for.
   */
  stacks?: string;
  metrics?: Record<string, number>;
  findings?: Finding[];
}

/**
 * ImplementRequest approves a plan.
 */
export interface ImplementRequest {
  /**
   * Revision is the revision that was read; another one is refused.
   */
  revision: number;
  client_id?: string;
}

/**
 * InstalledBinding is a binding with the reason why it cannot be used, if so.
 */
export interface InstalledBinding {
  harness: string;
  digest: string;
  built_in: boolean;
  allowed: boolean;
  path?: string;
  manifest: Manifest;
  problem?: Problem;
}

/**
 * Interaction is a card: something the agent asks.
 */
export interface Interaction {
  id: string;
  state: InteractionState;
  turn?: string;
  generation: number;
  ask: AgentInteraction;
  disposition?: Disposition;
  reply?: Reply;
  answer_turn?: string;
  automatic?: string;
  opened_at: string;
  closed_at?: string;
}

/**
 * InteractionState is the state of a card.
 */
export type InteractionState = "open" | "claimed" | "closed";

/**
 * InteractionType is what the agent asks for.
 * - `question`: one or more questions with options (Fields).
 * - `permission`: one of Decisions.
 * - `form`: an arbitrary form by JSON Schema (Schema), untouched (rule 15).
 * - `url`: consent to open a URL.
 * - `review`: the agent waits for its plan to be approved; it comes together with a Proposal of the same key.
 */
export type InteractionType = "question" | "permission" | "form" | "url" | "review";

/**
 * Item is a thing the agent said or did. It replaces an earlier one of the same ID. Child marks what a child agent did.
 */
export interface Item {
  turn?: string;
  /**
   * ID is the provider's id, unique within the session.
   */
  id: string;
  type: ItemType;
  status: ItemStatus;
  /**
   * Title is one line: a command, a file, the name of a tool.
   */
  title?: string;
  /**
   * Text is the whole text of a message, plan or output.
   */
  text?: string;
  /**
   * Native is the provider's own type name.
   */
  native?: string;
  /**
   * Data is the native item, for unknown kinds and details.
   */
  data?: unknown;
  /**
   * Child is the native session of a child agent.
   */
  child?: string;
  /**
   * Replay marks history seen while a session was restored.
   */
  replay?: boolean;
}

/**
 * ItemStatus is the state of an item.
 * - `declined`: a person or policy refused it.
 * - `incomplete`: is given by the host to an item that was still streaming when its turn ended.
 */
export type ItemStatus = "running" | "completed" | "failed" | "declined" | "incomplete";

/**
 * ItemType classifies an item of the timeline.
 */
export type ItemType = "message" | "reasoning" | "plan" | "command" | "edit" | "tool" | "search" | "other";

/**
 * Limits are what a module asks for; zero means the host's default, and no more than the host's maximum is granted.
 */
export interface Limits {
  /**
   * MemoryBytes bounds the linear memory.
   */
  memory_bytes?: number;
  /**
   * FuelPerStep and FuelPerByte bound the work of one step: FuelPerStep + FuelPerByte × input bytes, in loop iterations and calls.
   */
  fuel_per_step?: number;
  fuel_per_byte?: number;
  /**
   * OutputBytes bounds the output of a step and the saved state.
   */
  output_bytes?: number;
}

/**
 * LogLevel is the level from which on a conversation's records are logged: debug, info, warn or error, or empty for that of the logger itself.
 */
export interface LogLevel {
  level: string;
}

/**
 * Manifest is the JSON of the ao.manifest section. It is read without running any code. What it asks for is granted by the user only (DESIGN §3).
 */
export interface Manifest {
  /**
   * Harness is the id, [a-z][a-z0-9-]{0,31}.
   */
  harness: string;
  /**
   * Title is the name of the harness for a person.
   */
  title: string;
  /**
   * BindingVersion is the semantic version of the binding.
   */
  binding_version: string;
  abi: ABIRange;
  /**
   * StateVersion numbers the format of ao_save.
   */
  state_version: number;
  launch: AgentLaunch;
  framing: Framing;
  provider: Provider;
  capabilities: Capabilities;
  vocabulary: Vocabulary;
  /**
   * Calls are the methods it may call.
   */
  calls: string[];
  /**
   * Notifies are the notifications it may send.
   */
  notifies?: string[];
  /**
   * Requests are the requests of the child that it answers; others are refused by the host.
   */
  requests?: RequestMethod[];
  limits: Limits;
}

/**
 * Meaning is what a binding confirmed a mode to be.
 * - `planning`: the agent plans and changes nothing.
 * - `execution`: the agent does the work.
 * - ``: not confirmed.
 */
export type Meaning = "planning" | "execution" | "";

/**
 * Message is what a person sends.
 */
export interface Message {
  /**
   * ClientID identifies the message: a repeated one returns the first result. Empty: the host makes one.
   */
  client_id?: string;
  content: Content[];
  /**
   * Settings, if set, are frozen into this submission only, on top of the remembered ones.
   */
  settings?: SettingsPatch;
}

/**
 * Metric is one named number, in tokens unless the name says otherwise.
 */
export interface Metric {
  name: string;
  value: number;
}

/**
 * ModeChoice is a working mode.
 */
export interface ModeChoice {
  id: string;
  name?: string;
  description?: string;
  meaning?: Meaning;
  enforced_by?: Enforcer;
  /**
   * DefaultEffort is the effort the harness proposes for this mode.
   */
  default_effort?: string;
}

/**
 * ModelChoice is a model.
 */
export interface ModelChoice {
  id: string;
  name?: string;
  description?: string;
  /**
   * Efforts are those of this model.
   */
  efforts?: Choice[];
  /**
   * DefaultEffort is the effort used when none is chosen.
   */
  default_effort?: string;
  /**
   * Images: the model takes images.
   */
  images?: boolean;
  /**
   * Default: the model used when none is chosen.
   */
  default?: boolean;
  /**
   * Hidden models are accepted when named but not listed to a person.
   */
  hidden?: boolean;
}

/**
 * ModuleCheck is a module in the bindings folder that is not used.
 */
export interface ModuleCheck {
  path: string;
  harness?: string;
  version?: string;
  digest?: string;
  finding: Finding;
}

/**
 * Needs says what a person must do about a problem.
 * - ``: nothing.
 * - `relaunch`: a new process.
 * - `sign-in`: signing in.
 * - `choice`: choosing another value.
 */
export type Needs = "" | "relaunch" | "sign-in" | "choice";

/**
 * NewConversation says what to create.
 */
export interface NewConversation {
  /**
   * ID is optional; a repeated ID returns the conversation made first.
   */
  id?: string;
  harness: string;
  /**
   * Cwd is an absolute path of an existing directory.
   */
  cwd: string;
  title?: string;
  settings?: SettingsPatch;
}

/**
 * Observed is what the provider says is in force. Empty members are unknown.
 */
export interface Observed {
  mode?: string;
  permission?: Permission;
  model?: string;
  effort?: string;
  options?: OptionValue[];
  /**
   * Native is the provider's own words for it, for a person.
   */
  native?: string;
}

/**
 * Option is one option of a field; answers name it by its index (rule 10).
 */
export interface Option {
  /**
   * Value is the provider's own value.
   */
  value: string;
  label: string;
  description?: string;
  /**
   * Preview is longer text that shows what the option would give.
   */
  preview?: string;
}

/**
 * OptionChoice is any other native setting.
 */
export interface OptionChoice {
  id: string;
  name?: string;
  description?: string;
  /**
   * Category is for presentation only.
   */
  category?: string;
  /**
   * Boolean: the values are "true" and "false", Values is empty.
   */
  boolean?: boolean;
  values?: Choice[];
  /**
   * Current is the value in force.
   */
  current?: string;
  applies?: Applies;
}

/**
 * OptionValue is the chosen value of one native option. Booleans are "true" and "false".
 */
export interface OptionValue {
  id: string;
  value: string;
}

/**
 * Origin says where a submission came from.
 * - `user`: a person wrote it.
 * - `retry`: a deliberate second try of a turn.
 * - `answer`: the answer to a follow-up interaction.
 * - `implement`: Implement of a proposal.
 * - `feedback`: Request changes of a proposal.
 * - `steer`: a steering message that could not be steered natively.
 */
export type Origin = "user" | "retry" | "answer" | "implement" | "feedback" | "steer";

/**
 * Permission is how much the agent may do without asking.
 * - `default`: is the provider's own baseline.
 * - `accept-edits`: lets file edits through and asks for the rest.
 * - `auto`: leaves approvals to the provider's own reviewer.
 * - `bypass-permissions`: asks nothing.
 */
export type Permission = "default" | "accept-edits" | "auto" | "bypass-permissions";

/**
 * PermissionArgs are extra arguments for one permission.
 */
export interface PermissionArgs {
  permission: Permission;
  args: string[];
}

/**
 * PermissionChoice says what one permission means on this harness.
 */
export interface PermissionChoice {
  permission: Permission;
  support: Support;
  /**
   * Native describes the native payload in one line for a person.
   */
  native?: string;
  /**
   * Dormant is set where the permission is remembered but not in force while planning (rule 6, one axis).
   */
  dormant?: boolean;
}

/**
 * ProbeCheck is what a start of the harness showed.
 */
export interface ProbeCheck {
  ready: boolean;
  took_ms: number;
  /**
   * Modes and Models count what it offers.
   */
  modes?: number;
  models?: number;
}

/**
 * Problem is the body of every failed request of the HTTP API, as RFC 9457 lays it out. Code is what a program decides by; the texts are for a person.
 */
export interface Problem {
  /**
   * Type is a URI made of the code; it names the kind of problem.
   */
  type: string;
  /**
   * Title is the HTTP status in words.
   */
  title: string;
  /**
   * Status is the HTTP status.
   */
  status: number;
  /**
   * Detail says what exactly was wrong.
   */
  detail?: string;
  /**
   * Code is the stable code, one of those that listCodes returns.
   */
  code: Code;
  /**
   * Advice says what to do. It is left out where the detail says it.
   */
  advice?: string;
  /**
   * Field names the offending member of the request: a path such as "content[0].type", a parameter or a header.
   */
  field?: string;
}

/**
 * Progress is the agent's checklist, another thing than a proposal.
 */
export interface Progress {
  turn?: string;
  /**
   * Note is a remark that goes with the list.
   */
  note?: string;
  entries: ProgressStep[];
}

/**
 * ProgressStep is one entry; Status is "pending", "running" or "completed".
 */
export interface ProgressStep {
  text: string;
  status: string;
}

/**
 * Proposal is a plan offered for review.
 */
export interface Proposal {
  id: string;
  revision: number;
  state: ProposalState;
  turn?: string;
  text: string;
  route: AgentRoute;
  /**
   * Interaction is the review the agent waits in, for the native route.
   */
  interaction?: string;
  /**
   * Continuation is the turn made from it.
   */
  continuation?: string;
  opened_at: string;
  closed_at?: string;
}

/**
 * ProposalState is the state of a plan.
 */
export type ProposalState = "open" | "implemented" | "changes_requested" | "superseded" | "expired";

/**
 * Provider is the provider the schemas were generated from.
 */
export interface Provider {
  /**
   * Versions are those it was tested against.
   */
  versions: string[];
  /**
   * Min and Max bound the versions it is expected to fit, inclusive; a version outside is a warning, not a refusal.
   */
  min: string;
  max: string;
}

/**
 * PruneRequest says what of a journal may go. One of its members is given.
 */
export interface PruneRequest {
  /**
   * Before is the number of an event: what was over before it may go.
   */
  before?: number;
  /**
   * BeforeTime is a moment: what was over before it may go.
   */
  before_time?: string;
}

/**
 * Pruned says where a journal begins.
 */
export interface Pruned {
  /**
   * Floor is the number of the last event that is gone, 0 when none is.
   */
  floor: number;
}

/**
 * Queue is the state of a conversation's queue.
 */
export interface Queue {
  /**
   * Held: nothing new is dispatched, for Reason (a Code).
   */
  held?: boolean;
  reason?: Code;
  /**
   * Turns are the queued turn ids in the order they will run.
   */
  turns?: string[];
}

/**
 * QueuedCancel says of which version a queued message is cancelled.
 */
export interface QueuedCancel {
  /**
   * Version is the turn's version that was read; another one is refused. 0 cancels whatever it says by now.
   */
  version?: number;
}

/**
 * QueuedEdit gives a queued message other content. Its settings stay as they were frozen (rule 2).
 */
export interface QueuedEdit {
  /**
   * Version is the turn's version that was read; another one is refused.
   */
  version: number;
  /**
   * Content replaces the whole content. A block with a Digest and no Bytes keeps the attachment of the turn that has this digest.
   */
  content: Content[];
}

/**
 * QueuedMove moves a message within the queue.
 */
export interface QueuedMove {
  /**
   * Version is the turn's version that was read; another one is refused.
   */
  version: number;
  /**
   * Before is the queued turn that it is to run directly before; empty means behind all others.
   */
  before?: string;
}

/**
 * Relocation names the folder a conversation goes on in.
 */
export interface Relocation {
  /**
   * Cwd is an absolute path.
   */
  cwd: string;
}

/**
 * Reply is a person's answer to an interaction. Which members are set follows the type: Fields for a question, Decision (and Feedback) for a permission or review, Action and Content for a form, Action for a URL. In place of a secret there is a random placeholder (rule 16).
 */
export interface Reply {
  fields?: FieldAnswer[];
  /**
   * Decision is the id of the chosen decision.
   */
  decision?: string;
  feedback?: string;
  action?: Action;
  /**
   * Content is the filled-in form, an object that fits its schema.
   */
  content?: unknown;
}

/**
 * RequestMethod is an inbound request. Interactive ones are answered only by a person's answer or a withdrawal.
 */
export interface RequestMethod {
  method: string;
  interactive: boolean;
}

/**
 * RetryRequest sends the content of an ended turn again.
 */
export interface RetryRequest {
  client_id?: string;
  /**
   * RepeatWork says that what the turn did with its tools may be done again. Without it the retry of a turn that used tools is refused.
   */
  repeat_work?: boolean;
}

/**
 * RunningTurn is the turn that runs, with its frozen settings.
 */
export interface RunningTurn {
  turn: string;
  state: TurnState;
  settings: Settings;
  stopping?: boolean;
}

/**
 * Scope says when an interaction may be shown although no submission of ours runs (rule 14).
 * - ``: belongs to the running turn.
 * - `session`: belongs to the session: a sign-in form or URL.
 * - `restored`: is a review that the harness raised again after a restore.
 */
export type Scope = "" | "session" | "restored";

/**
 * Session describes the live session.
 */
export interface Session {
  state: SessionState;
  generation?: number;
  pid?: number;
  native_session?: string;
  provider_version?: string;
  binding_version?: string;
  capabilities: Capabilities;
}

/**
 * SessionInfo is what the harness says about its session.
 */
export interface SessionInfo {
  /**
   * Title is the name the harness gave the session.
   */
  title?: string;
}

/**
 * SessionState says what a conversation's provider process does.
 */
export type SessionState = "none" | "starting" | "ready" | "stopping";

/**
 * Settings is the wished tuple, frozen when a submission is accepted (rule 2). Empty strings mean "the provider's own default"; the binding resolves them.
 */
export interface Settings {
  /**
   * Mode is a native mode id as the catalog lists it.
   */
  mode?: string;
  /**
   * Permission is one of the Permission constants.
   */
  permission?: Permission;
  /**
   * Model is a native model id.
   */
  model?: string;
  /**
   * Effort is a native reasoning effort of that model.
   */
  effort?: string;
  /**
   * Options are other native settings by id, in the order of their ids.
   */
  options?: OptionValue[];
}

/**
 * SettingsChange changes the remembered settings.
 */
export interface SettingsChange {
  /**
   * Revision is the one that was read; another one is refused.
   */
  revision: number;
  patch: SettingsPatch;
}

/**
 * SettingsEvent says what is remembered now and why it changed.
 */
export interface SettingsEvent {
  settings: Settings;
  revision: number;
  /**
   * Cause is "user", "implement" when a plan was implemented, or "reopened" when that decision provably never reached the agent.
   */
  cause: string;
  /**
   * Proposal is the plan whose decision it was, except where a person chose.
   */
  proposal?: string;
  /**
   * ReplacedMode is the mode that "implement" replaced, empty for none.
   */
  replaced_mode?: string;
  /**
   * ModeChosen: the person named the mode, if only the one that it was.
   */
  mode_chosen?: boolean;
}

/**
 * SettingsPatch changes remembered settings. A nil member is left alone; a pointer to "" resets to the provider's own default.
 */
export interface SettingsPatch {
  mode?: string;
  permission?: Permission | "";
  model?: string;
  effort?: string;
  /**
   * Options sets options by id; an empty value resets one.
   */
  options?: Record<string, string>;
}

/**
 * Severity says how much a finding matters.
 * - `error`: something cannot be used.
 * - `warning`: it can be used, and may not do what is expected.
 * - `note`: nothing is wrong; it may be worth knowing.
 */
export type Severity = "error" | "warning" | "note";

/**
 * SignInCheck is what was found about a sign-in, without reading anything of it.
 */
export interface SignInCheck {
  state: SignInState;
  /**
   * Found are the names of variables that are set and the paths of files that are there.
   */
  found?: string[];
  /**
   * Command is what a person runs to sign in.
   */
  command?: string[];
}

/**
 * SignInState says what is known about a harness's sign-in.
 * - `found`: there is a trace of a sign-in. Whether it still holds only the provider knows.
 * - `not-found`: there is none of the traces. A credential may be elsewhere, in the keychain of the system for example.
 * - `unknown`: the binding does not say what to look for.
 * - `needed`: the harness was started and asks for one.
 * - `not-asked`: the harness was started and asked for none.
 */
export type SignInState = "found" | "not-found" | "unknown" | "needed" | "not-asked";

/**
 * SignInTraces are what a harness that is signed in leaves on the machine. The host looks whether one of them is there, and reads none. That none is there proves nothing: a credential can be in the keychain of the system.
 */
export interface SignInTraces {
  /**
   * Env are variables of which any that is set signs in.
   */
  env?: string[];
  /**
   * Files are in the harness's own folder, see HomeVar and HomeDir.
   */
  files?: string[];
}

/**
 * Steering is how a running turn can be redirected (rule 24).
 * - `native`: the harness takes a message into the running turn.
 * - `cancel-and-prompt`: the host cancels the turn and sends the message.
 * - `none`: the message waits for the end of the turn.
 */
export type Steering = "native" | "cancel-and-prompt" | "none";

/**
 * StopOptions fence a stop.
 */
export interface StopOptions {
  /**
   * Turn, if set, is the turn meant; if another one runs nothing happens (S1).
   */
  turn?: string;
}

/**
 * Support says how a permission can be put in force.
 * - `native`: the harness has it.
 * - `relaunch`: the harness has it as a launch flag.
 * - `stand-in`: the host answers the harness's requests.
 * - `none`: not available; choosing it is reported.
 */
export type Support = "native" | "relaunch" | "stand-in" | "none";

/**
 * Turn is one accepted submission.
 */
export interface Turn {
  id: string;
  client_id: string;
  state: TurnState;
  /**
   * Version is 1 when the turn is accepted, and one more after each EditQueued and MoveQueued.
   */
  version: number;
  origin: Origin;
  content?: Content[];
  settings: Settings;
  revision: number;
  /**
   * Interaction, Proposal and RetryOf say what it answers, continues, repeats.
   */
  interaction?: string;
  proposal?: string;
  retry_of?: string;
  reply?: Reply;
  evidence?: string;
  stop_reason?: string;
  code?: string;
  message?: string;
  accepted_at: string;
  started_at?: string;
  ended_at?: string;
}

/**
 * TurnState is the state of a submission as a client sees it.
 */
export type TurnState = "queued" | "dispatched" | "running" | "completed" | "interrupted" | "failed" | "uncertain" | "not_sent" | "cancelled" | "superseded";

/**
 * TurnStatus is how a turn ended.
 * - `completed`: the agent finished.
 * - `interrupted`: cancelled by a stop.
 * - `failed`: an error ended it.
 */
export type TurnStatus = "completed" | "interrupted" | "failed";

/**
 * Usage carries two series that must not be mixed (D7): gauges replace the value before, counters are totals of the session that only grow.
 */
export interface Usage {
  turn?: string;
  /**
   * Gauges replace the value before, for example "context_tokens".
   */
  gauges?: Metric[];
  /**
   * Counters are totals of the session that only grow.
   */
  counters?: Metric[];
}

/**
 * UsageView keeps gauges and counters apart (D7).
 */
export interface UsageView {
  gauges?: Metric[];
  counters?: Metric[];
}

/**
 * VersionFit says how a harness's version relates to those its binding is made for.
 * - `tested`: the binding was tested with this version.
 * - `expected`: it lies between the versions the binding is expected to fit.
 * - `outside`: it is used all the same, with a warning.
 * - `unknown`: the harness does not tell its version without being started.
 */
export type VersionFit = "tested" | "expected" | "outside" | "unknown";

/**
 * VersionInfo names the versions of the host.
 */
export interface VersionInfo {
  /**
   * Version is that of the module, ABI that of the contract with bindings.
   */
  version: string;
  abi: string;
}

/**
 * Vocabulary is the semantic vocabulary a binding maps, shown at install.
 */
export interface Vocabulary {
  /**
   * Permissions are those it can put in force in some way.
   */
  permissions: Permission[];
  interactions?: InteractionType[];
  /**
   * Proposals: plans are offered for review.
   */
  proposals?: boolean;
}

/**
 * Warning is shown once to a person.
 */
export interface Warning {
  /**
   * Code is a stable code.
   */
  code: string;
  /**
   * Message is one or two sentences for a person.
   */
  message: string;
}

/**
 * Every operation, by the name it has in the OpenAPI document. A stream's result is one event of it.
 */
export interface Operations {
  /**
   * Names the versions of the host and of its contract with bindings.
   */
  getVersion: {
    method: "GET";
    path: "/v1/version";
    params: Record<string, never>;
    query: Record<string, never>;
    headers: Record<string, never>;
    body: undefined;
    result: VersionInfo;
  };
  /**
   * Lists every error code with the sentence that says what to do, in alphabetical order.
   */
  listCodes: {
    method: "GET";
    path: "/v1/codes";
    params: Record<string, never>;
    query: Record<string, never>;
    headers: Record<string, never>;
    body: undefined;
    result: {
      items: CodeInfo[];
    };
  };
  /**
   * Returns the OpenAPI 3.1 document of this API.
   */
  getOpenAPI: {
    method: "GET";
    path: "/v1/openapi.json";
    params: Record<string, never>;
    query: Record<string, never>;
    headers: Record<string, never>;
    body: undefined;
    result: unknown;
  };
  /**
   * Is the function of that name for a host that is open: it tells its own state too, and harnesses are found the way this host starts them.
   */
  diagnose: {
    method: "POST";
    path: "/v1/diagnose";
    params: Record<string, never>;
    query: Record<string, never>;
    headers: Record<string, never>;
    body: DiagnoseOptions | undefined;
    result: Diagnosis;
  };
  /**
   * Lists the built-in modules and those in the bindings folder, also those that cannot be used, with the reason.
   */
  listBindings: {
    method: "GET";
    path: "/v1/bindings";
    params: Record<string, never>;
    query: Record<string, never>;
    headers: Record<string, never>;
    body: undefined;
    result: {
      items: InstalledBinding[];
    };
  };
  /**
   * Is the user's yes to the module in the bindings folder that is named by its harness id, file name or digest.
   */
  allowBinding: {
    method: "POST";
    path: "/v1/bindings/{name}/allow";
    params: { "name": string };
    query: Record<string, never>;
    headers: { "Idempotency-Key"?: string };
    body: undefined;
    result: InstalledBinding;
  };
  /**
   * Returns the manifest of the binding a harness would use.
   */
  getManifest: {
    method: "GET";
    path: "/v1/harnesses/{harness}/manifest";
    params: { "harness": string };
    query: Record<string, never>;
    headers: Record<string, never>;
    body: undefined;
    result: Manifest;
  };
  /**
   * Lists all conversations, the newest first.
   */
  listConversations: {
    method: "GET";
    path: "/v1/conversations";
    params: Record<string, never>;
    query: Record<string, never>;
    headers: Record<string, never>;
    body: undefined;
    result: {
      items: Conversation[];
    };
  };
  /**
   * Makes a conversation.
   */
  createConversation: {
    method: "POST";
    path: "/v1/conversations";
    params: Record<string, never>;
    query: Record<string, never>;
    headers: { "Idempotency-Key"?: string };
    body: NewConversation;
    result: Conversation;
  };
  /**
   * Returns one conversation.
   */
  getConversation: {
    method: "GET";
    path: "/v1/conversations/{conversation}";
    params: { "conversation": string };
    query: Record<string, never>;
    headers: Record<string, never>;
    body: undefined;
    result: Conversation;
  };
  /**
   * Lets a conversation go on in another working directory, after a worktree was moved or removed (L3).
   */
  relocateConversation: {
    method: "POST";
    path: "/v1/conversations/{conversation}/relocate";
    params: { "conversation": string };
    query: Record<string, never>;
    headers: { "Idempotency-Key"?: string };
    body: Relocation;
    result: Conversation;
  };
  /**
   * Removes a conversation with everything that is kept of it: its journal, turns, cards, plans and attachments.
   */
  deleteConversation: {
    method: "POST";
    path: "/v1/conversations/{conversation}/delete";
    params: { "conversation": string };
    query: Record<string, never>;
    headers: { "Idempotency-Key"?: string };
    body: DeleteRequest | undefined;
    result: Deleted;
  };
  /**
   * Shortens a journal from its beginning: the events of turns that had ended before a number or a time are removed.
   */
  pruneJournal: {
    method: "POST";
    path: "/v1/conversations/{conversation}/prune";
    params: { "conversation": string };
    query: Record<string, never>;
    headers: { "Idempotency-Key"?: string };
    body: PruneRequest | undefined;
    result: Pruned;
  };
  /**
   * Returns what a client shows beside the composer.
   */
  getControls: {
    method: "GET";
    path: "/v1/conversations/{conversation}/controls";
    params: { "conversation": string };
    query: Record<string, never>;
    headers: Record<string, never>;
    body: undefined;
    result: Controls;
  };
  /**
   * Changes the remembered settings, for submissions accepted from now on; the running turn, its questions and what is queued keep theirs (rules 1, 2).
   */
  changeSettings: {
    method: "PATCH";
    path: "/v1/conversations/{conversation}/settings";
    params: { "conversation": string };
    query: Record<string, never>;
    headers: { "Idempotency-Key"?: string };
    body: SettingsChange;
    result: Controls;
  };
  /**
   * Starts a session without a submission and returns once its catalog is read, so that choices can be offered before the first message (rule 9).
   */
  probe: {
    method: "POST";
    path: "/v1/conversations/{conversation}/probe";
    params: { "conversation": string };
    query: Record<string, never>;
    headers: Record<string, never>;
    body: undefined;
    result: Controls;
  };
  /**
   * Ends the running turn: what the agent asked is withdrawn, the harness is asked to cancel, and after 4 seconds its process is ended where the manifest says so.
   */
  stop: {
    method: "POST";
    path: "/v1/conversations/{conversation}/stop";
    params: { "conversation": string };
    query: Record<string, never>;
    headers: { "Idempotency-Key"?: string };
    body: StopOptions | undefined;
    result: Controls;
  };
  /**
   * Lets a held queue run again.
   */
  resumeQueue: {
    method: "POST";
    path: "/v1/conversations/{conversation}/queue/resume";
    params: { "conversation": string };
    query: Record<string, never>;
    headers: { "Idempotency-Key"?: string };
    body: undefined;
    result: Controls;
  };
  /**
   * Returns the log level that was set for a conversation, empty if none was.
   */
  getLogLevel: {
    method: "GET";
    path: "/v1/conversations/{conversation}/log-level";
    params: { "conversation": string };
    query: Record<string, never>;
    headers: Record<string, never>;
    body: undefined;
    result: LogLevel;
  };
  /**
   * Raises or lowers the log of one conversation without the others, until the host is closed.
   */
  setLogLevel: {
    method: "POST";
    path: "/v1/conversations/{conversation}/log-level";
    params: { "conversation": string };
    query: Record<string, never>;
    headers: { "Idempotency-Key"?: string };
    body: LogLevel;
    result: LogLevel;
  };
  /**
   * Yields the journal of a conversation after the given number: first everything since, then live, until ctx ends, the host is closed, or the caller stops.
   */
  streamEvents: {
    method: "GET";
    path: "/v1/conversations/{conversation}/events";
    params: { "conversation": string };
    query: { "after"?: number };
    headers: { "Last-Event-ID"?: number };
    body: undefined;
    result: Event;
  };
  /**
   * Writes the journal of a conversation as JSON lines, oldest first: all of it, or what was not pruned.
   */
  exportConversation: {
    method: "GET";
    path: "/v1/conversations/{conversation}/export";
    params: { "conversation": string };
    query: Record<string, never>;
    headers: Record<string, never>;
    body: undefined;
    result: Event;
  };
  /**
   * Lists the turns of a conversation in the order they were accepted, save those that MoveQueued put elsewhere.
   */
  listTurns: {
    method: "GET";
    path: "/v1/conversations/{conversation}/turns";
    params: { "conversation": string };
    query: Record<string, never>;
    headers: Record<string, never>;
    body: undefined;
    result: {
      items: Turn[];
    };
  };
  /**
   * Accepts a message with the settings of this moment, at the end of the queue, and releases a held queue (rule 21b).
   */
  sendMessage: {
    method: "POST";
    path: "/v1/conversations/{conversation}/turns";
    params: { "conversation": string };
    query: Record<string, never>;
    headers: { "Idempotency-Key"?: string };
    body: Message;
    result: Turn;
  };
  /**
   * Returns one turn.
   */
  getTurn: {
    method: "GET";
    path: "/v1/conversations/{conversation}/turns/{turn}";
    params: { "conversation": string; "turn": string };
    query: Record<string, never>;
    headers: Record<string, never>;
    body: undefined;
    result: Turn;
  };
  /**
   * Sends a message into the running turn, and takes back what the agent asked and nobody has answered (rule 14): natively where the harness can, else by cancelling the turn once and sending the message next; of several waiting steers the last one runs and the others end superseded (rule 24).
   */
  steer: {
    method: "POST";
    path: "/v1/conversations/{conversation}/steer";
    params: { "conversation": string };
    query: Record<string, never>;
    headers: { "Idempotency-Key"?: string };
    body: Message;
    result: Turn;
  };
  /**
   * Sends the content of an ended turn again, as a new submission with the settings of now (rule 2).
   */
  retryTurn: {
    method: "POST";
    path: "/v1/conversations/{conversation}/turns/{turn}/retry";
    params: { "conversation": string; "turn": string };
    query: Record<string, never>;
    headers: { "Idempotency-Key"?: string };
    body: RetryRequest | undefined;
    result: Turn;
  };
  /**
   * Takes a turn out of the queue.
   */
  cancelQueued: {
    method: "POST";
    path: "/v1/conversations/{conversation}/turns/{turn}/cancel";
    params: { "conversation": string; "turn": string };
    query: Record<string, never>;
    headers: { "Idempotency-Key"?: string };
    body: QueuedCancel | undefined;
    result: Turn;
  };
  /**
   * Gives a queued message other content; place and settings stay.
   */
  editQueued: {
    method: "POST";
    path: "/v1/conversations/{conversation}/turns/{turn}/edit";
    params: { "conversation": string; "turn": string };
    query: Record<string, never>;
    headers: { "Idempotency-Key"?: string };
    body: QueuedEdit;
    result: Turn;
  };
  /**
   * Moves a message within the queue.
   */
  moveQueued: {
    method: "POST";
    path: "/v1/conversations/{conversation}/turns/{turn}/move";
    params: { "conversation": string; "turn": string };
    query: Record<string, never>;
    headers: { "Idempotency-Key"?: string };
    body: QueuedMove;
    result: Turn;
  };
  /**
   * Lists the cards that wait for an answer, oldest first.
   */
  listInputs: {
    method: "GET";
    path: "/v1/conversations/{conversation}/inputs";
    params: { "conversation": string };
    query: Record<string, never>;
    headers: Record<string, never>;
    body: undefined;
    result: {
      items: Interaction[];
    };
  };
  /**
   * Answers a card.
   */
  answerInput: {
    method: "POST";
    path: "/v1/conversations/{conversation}/inputs/{interaction}/answer";
    params: { "conversation": string; "interaction": string };
    query: Record<string, never>;
    headers: { "Idempotency-Key"?: string };
    body: Answer | undefined;
    result: Interaction;
  };
  /**
   * Lists the plans of a conversation, oldest first, decided ones included.
   */
  listPlans: {
    method: "GET";
    path: "/v1/conversations/{conversation}/plans";
    params: { "conversation": string };
    query: Record<string, never>;
    headers: Record<string, never>;
    body: undefined;
    result: {
      items: Proposal[];
    };
  };
  /**
   * Implements a plan: one execution submission with the remembered permission, and the remembered mode leaves planning in the same transaction (rule 17).
   */
  implementPlan: {
    method: "POST";
    path: "/v1/conversations/{conversation}/plans/{proposal}/implement";
    params: { "conversation": string; "proposal": string };
    query: Record<string, never>;
    headers: { "Idempotency-Key"?: string };
    body: ImplementRequest;
    result: Turn;
  };
  /**
   * Sends feedback on a plan, in planning mode.
   */
  requestChanges: {
    method: "POST";
    path: "/v1/conversations/{conversation}/plans/{proposal}/request-changes";
    params: { "conversation": string; "proposal": string };
    query: Record<string, never>;
    headers: { "Idempotency-Key"?: string };
    body: ChangesRequest;
    result: Turn;
  };
}
