"""Words that may replace each other without asking for something else: one group per line."""

from __future__ import annotations

SYNONYMS = """
start begin commence
end finish
close shut
stop quit cease
buy purchase
get obtain acquire receive
receive get
send ship dispatch mail deliver
change modify alter edit amend revise switch swap
replace substitute
fix repair mend resolve sort
remove delete erase
create make build generate produce set compose
write compose draft author
show display
hide conceal
choose select pick
find locate
recognize identify
search seek lookup
check verify confirm validate
examine inspect
see view watch
look glance
tell inform notify
speak talk
ask request
answer reply respond response
submit file hand lodge
fill complete
sign autograph
join enrol enroll register
leave exit
go travel head
visit see
arrive come reach
leave depart
wait await
stay remain
live reside
work function operate
happen occur
try attempt
help assist aid support assistance
use utilize employ
need require necessary needed required mandatory compulsory obligatory
want wish
like enjoy
prefer rather
think believe reckon suppose suspect
know understand
learn study
teach instruct
remember recall
permit allow let
allowed permitted ok okay fine
refuse decline deny reject fail unsuccessful
reversed reverted reverse revert
cancel terminate
break smash
broken damaged faulty defective
lose misplace
keep retain hold
earn make
pay settle
cost price charge fee rate tariff
money cash fund funds
cheap inexpensive affordable budget
expensive costly pricey
free complimentary gratis
salary wage pay
job position role post
company firm business
boss manager supervisor
colleague coworker
employee worker staff
customer client
child kid
baby infant
person individual
people persons folk
man guy
woman lady female girl
male man boy
doctor physician
lawyer attorney solicitor
teacher instructor tutor
friend mate pal
house home
flat apartment
garden yard
shop store
supermarket grocery
car auto automobile vehicle
lorry truck
bike bicycle cycle
plane aeroplane airplane aircraft flight
taxi cab
atm cashpoint
phone telephone mobile cellphone smartphone
tv television
photo picture image photograph pic
film movie
song track tune
book novel
paper document
document paperwork
email mail
letter note
message text
luggage baggage
parcel package
gift present
toilet bathroom restroom
rubbish trash garbage waste
petrol gasoline
holiday vacation
trip journey
ticket fare
meal dish food
recipe method
big large huge
small little tiny
fast quick rapid speedy
fastest quickest
faster quicker
slow sluggish
easy simple straightforward
hard difficult tough
important significant crucial
importance significance necessity point
correct right accurate
wrong incorrect
good great nice fine
best top
bad poor terrible awful
new recent latest replacement
old aged age
extra additional
whole entire full
total overall
different other
same identical
near close nearby
nearest closest
rare uncommon
common usual frequent
strange odd weird unfamiliar
soon quickly immediately
now currently
often frequently
maximum max highest largest most
minimum min lowest smallest least
limit restriction cap
rule regulation
law legislation
reason cause
result outcome
problem issue trouble difficulty
error mistake fault
solution fix
step process procedure instruction
way method manner
kind type sort
option choice possibility alternative feature
part section
list itemize
idea suggestion
tip advice
difference distinction
advantage benefit
disadvantage drawback downside
goal aim objective
meaning definition
example sample
detail information info
address location
place location
name title
number amount quantity count
date day
deadline due
time hour
schedule timetable
appointment meeting
booking reservation
book reserve
guarantee warranty
contract agreement
insurance cover coverage policy
complaint grievance
refund reimbursement reimburse
discount reduction rebate
voucher coupon
receipt invoice bill
loan credit
account profile
password passcode
device gadget
computer pc
screen display monitor
program application app software
website site webpage
link url
picture image
folder directory
function method
bug defect
version release
install setup
update upgrade
download fetch
increase raise boost
improve enhance
decrease reduce lower drop fall
heal cure
ill sick unwell
illness disease
medicine medication drug
tablet pill
pain ache
jab vaccine vaccination injection
weather forecast
abroad overseas international internationally
certain sure
reason purpose
activate enable
anywhere everywhere
expiry expiration expire
eligible qualified
happy glad pleased
sad unhappy
angry mad
tired exhausted
beautiful pretty
clever smart intelligent
funny humorous amusing
dead died die
eat consume swallow
drink sip
sleep rest
clean wash
cook prepare make
score rating rate
female woman
assign give
offer provide
"""
