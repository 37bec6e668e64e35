"""Opposite actions and roles: two sides per line, written as `lexicon` says."""

from __future__ import annotations

ACTIONS = """
enable activate reactivate turn_on switch_on | disable deactivate turn_off switch_off
allow permit allowed permitted | forbid ban banned prohibit prohibited disallow deny bar block
  forbidden outlaw
allowed optional | required mandatory obligatory compulsory
allow include cover covered | exclude excluded leave_out
include included including inclusive | exclude excluded excluding exclusive except omit leave_out
let allow | stop prevent
increase raise bigger larger higher expand enlarge extend boost maximize | decrease reduce lower shrink
  smaller lessen diminish minimize
upgrade | downgrade
accept | decline reject refuse
approve | reject deny disapprove veto
claim submit request | approve
add append insert attach put_in | remove delete detach take_off take_out drop
create | delete destroy erase
add | subtract
append | prepend
install | uninstall remove
build | demolish destroy
save store keep | delete discard erase
save | spend
keep | discard return delete cancel
cancel terminate | renew keep continue resume reinstate reactivate
cancel | confirm book reserve place
cancel | change amend reschedule modify
pause suspend | resume unpause continue restart
start begin launch | stop end finish quit
start | kill terminate shut_down
open | close shut
opening | closing
reopen | close
lock | unlock
freeze block lock | unfreeze unblock unlock
freeze | thaw defrost melt
hide conceal | show reveal unhide display
hidden invisible | visible shown
mute | unmute
archive | unarchive
collapse | expand
expand | contract
fold | unfold
wrap | unwrap
zoom_in | zoom_out
scroll_up | scroll_down
turn_up speed_up scale_up | turn_down slow_down scale_down
log_in sign_in login signin | log_out sign_out logout signout log_off sign_off
check_in checkin | check_out checkout
opt_in | opt_out
clock_in | clock_out
sign_up register enrol enroll | unsubscribe unregister deregister withdraw_from
subscribe | unsubscribe
plug_in | unplug
phase_in | phase_out
fade_in | fade_out
put_on | take_off
pick_up collect collection | drop_off deliver delivery
collect | return
eat_in dine_in | takeaway take_away take_out delivery to_go
join | leave quit
join merge combine concatenate | split separate divide
connect pair link | disconnect unpair unlink
mount | unmount eject
attach | detach
load | unload
pack | unpack
zip compress | unzip decompress extract
encrypt | decrypt
encode | decode
import | export
upload | download
push | pull
commit | revert rollback
send | receive
sender | recipient receiver
lend | borrow
lender | borrower
buy purchase | sell
buyer | seller
buy purchase | rent lease hire
rent_out let_out | rent
owner homeowner | renter tenant
landlord | tenant renter
deposit top_up pay_in | withdraw withdrawal cash_out
transfer | withdraw
pay | refund
charge | refund
charge | discharge
earn | spend
income earnings | expense expenditure spending
gain | lose loss
win | lose
winner | loser
victory | defeat
profit | loss
hire recruit employ | fire dismiss sack
promote | demote
employer | employee worker staff
teacher lecturer | student pupil
doctor | patient
driver | passenger
host | guest
supplier vendor | customer client
client | server
arrive arrival | depart departure
arrivals | departures
enter entry entrance | exit
take_off takeoff | land landing
boarding | landing
immigrate immigrant immigration | emigrate emigrant emigration
rise | fall drop sink
ascend ascending | descend descending
float | sink
sunrise | sunset
attack | defend
attract | repel
absorb | emit reflect release
inhale | exhale
push | pull
remember | forget
find | lose
agree | disagree
love | hate
praise | criticise criticize
encourage | discourage
support for | oppose against
cause causes | prevent prevention cure
cause causes | treat treatment remedy
symptom symptoms sign | treatment treat remedy cure
symptom symptoms | cause causes
avoid | use choose eat take include recommend
safe | dangerous harmful hazardous risky
protect | harm damage
help helpful | hurt harm harmful
heal | injure
repair fix mend | break
clean | dirty
wash | dry
heat heating warm | cool cooling air_conditioning
melt | freeze
boil | freeze
tighten | loosen
strengthen | weaken
lengthen | shorten
widen | narrow
lighten brighten | darken
dim | brighten
accelerate | decelerate brake
appreciate appreciation | depreciate depreciation
inflate inflation | deflate deflation
tie | untie
fasten | unfasten undo
bury | dig_up
born birth | die death died
marry marriage | divorce
succeed success successful successfully | fail failure unsuccessful unsuccessfully
pass | fail
merge | close
follow | unfollow
admit | deny
ask | answer
question | answer
problem | solution
work working | broken faulty fault defective
fill | empty
fill | drain
read | write
input | output
lost | found
push_notifications | email_notifications
lead | follow
even_number even_numbers | odd_number odd_numbers
guilty | innocent
plaintiff claimant | defendant
backup back_up | restore
"""
