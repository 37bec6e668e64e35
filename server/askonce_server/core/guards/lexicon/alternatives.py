"""Things of one kind, a side for each: asking about one is not asking about another."""

from __future__ import annotations

PEOPLE = """
who: child kid | adult | baby infant newborn | toddler | teenager teen | pensioner retiree elderly |
  student | employee staff worker | self_employed freelancer sole_trader | visitor guest |
  resident | member | public | tourist | landlord | tenant renter | homeowner | employer | veteran |
  carer caregiver | driver | passenger | customer client | contractor | volunteer | manager | admin
  administrator | director | shareholder | apprentice | intern trainee | citizen | nurse | doctor gp |
  teacher | parent | patient | trustee | executor
relation: husband | wife | mother mom mum | father dad | brother | sister | son | daughter |
  grandmother | grandfather | uncle | aunt | cousin | nephew | niece | boyfriend | girlfriend | fiance
whose: colleague coworker | friend | neighbour neighbor | boss | partner spouse
pet: dog | cat | rabbit | hamster | guinea_pig | horse | fish goldfish | bird parrot | tortoise turtle
  | puppy | kitten | snake | chicken hen | cow | pig | sheep | goat | duck
wild: lion | tiger | elephant | bear | wolf | fox | whale | shark | dolphin | eagle | owl | penguin |
  giraffe | zebra | monkey | gorilla | crocodile | spider | bee | wasp | ant | butterfly | mosquito
profession: plumber | electrician | builder | carpenter joiner | painter | gardener | cleaner | lawyer
  solicitor attorney | accountant | dentist | vet | optician | pharmacist chemist | surgeon |
  physiotherapist physio | psychologist | hairdresser barber | chef | waiter | pilot | engineer |
  architect | locksmith | roofer | mechanic
student: undergraduate bachelor undergrad | postgraduate postgrad master masters | phd doctorate doctoral
school: nursery preschool kindergarten | primary elementary | secondary high_school | sixth_form |
  college | university uni
"""

MONEY_AND_PLANS = """
tier: free_plan free_tier free | basic | starter | standard | plus | pro professional | premium |
  enterprise | business | team | family | personal | ultimate | lite | gold | silver | bronze | platinum
payment: cash | cheque | bank_transfer wire_transfer | direct_debit | standing_order | paypal | klarna
  | stripe | apple_pay | google_pay | gift_card gift_voucher | bitcoin crypto | credit_card | debit_card
card: visa | mastercard | amex american_express | maestro
account: savings | current checking | joint | business
insurance: home house household contents buildings | car motor auto vehicle | travel | life | pet |
  health medical | dental | landlord | phone gadget | liability | van | bike bicycle
tax: income_tax | council_tax | vat | inheritance_tax | capital_gains | corporation_tax | stamp_duty |
  national_insurance | road_tax | property_tax | sales_tax
loan: mortgage | student_loan | personal_loan | car_loan | overdraft | credit_card | payday_loan
leave: annual_leave holiday vacation pto | sick_leave sick_pay | maternity | paternity | parental |
  bereavement compassionate | jury_duty | sabbatical
pension: workplace_pension | state_pension | private_pension
investment: share stock | bond gilt | fund | etf | crypto cryptocurrency bitcoin | property real_estate
  | gold
status: pending | declined failed rejected | reverted reversed | completed successful | cancelled
  canceled
order: cancel | return | exchange | track | amend
fare: economy | premium_economy | business_class | first_class
seat: aisle | window | middle
luggage: hand_luggage carry_on cabin_bag hand_baggage cabin_baggage | checked_bag hold_luggage
  checked_luggage checked_baggage hold_baggage
board: all_inclusive | half_board | full_board | self_catering | bed_and_breakfast
"""

THINGS = """
proof: two_factor_authentication two_factor 2_fa | single_sign_on sso | passkey
utility: gas | electricity electric | water | broadband internet wifi | phone mobile | tv television
bin: recycling | garden_waste | food_waste | general_waste rubbish
fuel: petrol gasoline | diesel | electric ev | hybrid | lpg
energy: solar | wind | nuclear | coal | hydro hydroelectric | geothermal
vehicle: car | motorbike motorcycle | bicycle bike | bus | coach | train | tram | taxi cab | ferry |
  plane flight | van | lorry truck | scooter | boat ship | underground tube metro subway | caravan |
  helicopter
device: laptop | phone smartphone mobile | tablet | desktop | printer | monitor | keyboard | mouse
  | router | camera | headphones | speaker | smartwatch watch | tv television | console | projector
appliance: boiler | radiator | washing_machine washer | dishwasher | tumble_dryer dryer | fridge
  refrigerator | freezer | oven | microwave | kettle | toaster | hob stove | vacuum hoover | iron |
  thermostat | shower | toilet | sink | bath bathtub | tap faucet
room: bathroom | kitchen | bedroom | living_room lounge | garage | attic loft | basement cellar |
  garden | balcony | hallway | dining_room
amenity: pool | gym | spa | sauna | parking car_park | restaurant | bar | wifi | lift elevator |
  laundry | playground | conference_room
furniture: sofa couch | chair | table | bed mattress | wardrobe | desk | shelf bookcase | lamp |
  curtain | carpet rug | mirror | door | window | wall | ceiling | roof | floor | fence
clothes: shirt | trousers pants | jeans | dress | skirt | shoes trainers sneakers | boots | jacket coat
  | jumper sweater | hat cap | socks | gloves | scarf | suit | belt | tie | hoodie
home: flat apartment | house | bungalow | studio | cottage | mansion
document: passport | driving_licence driver_license | visa | id_card | birth_certificate |
  marriage_certificate | payslip | invoice | receipt | p60 | p45 | bank_statement | utility_bill |
  contract
detail: password passcode | pin | username | email | address | phone_number mobile_number | surname
  last_name | profile_picture avatar | date_of_birth
channel: phone telephone | email | chat | post letter | text sms | fax | video_call
media: film movie | book novel | song | album | tv_show series | podcast | game videogame | magazine |
  newspaper | play
text: essay | poem | story | email | letter | report | blog_post | song | haiku | speech | tweet |
  slogan | recipe | script | cv resume | limerick | headline | review | press_release | sonnet
task: summarize summarise summary | translate translation | explain | rewrite rephrase paraphrase |
  proofread | classify | outline
part: introduction intro | conclusion | abstract | title | chapter | appendix | bibliography
format: pdf | word docx doc | excel xlsx xls | csv | json | xml | yaml | html | markdown | png | jpg
  jpeg | gif | svg | mp3 | mp4 | zip | txt | latex | powerpoint pptx
shape: circle | square | triangle | rectangle | sphere | cube | cone | cylinder | pyramid | hexagon |
  pentagon | ellipse
measure: area | perimeter circumference | volume | diameter | radius | weight mass | height | length |
  width | depth | speed velocity | temperature | pressure
statistic: mean average | median | mode | variance | standard_deviation
trig: sine sin | cosine cos | tangent tan
calculus: derivative differentiate | integral integrate
operator: plus | minus | times multiplied | divided
multiple: double | triple | quadruple
position: beginning | middle | end
direction: north | south | east | west | northeast | northwest | southeast | southwest
size: small | medium | large | xl extra_large | xxl
color: red | blue | green | yellow | orange | purple violet | pink | brown | black | white | grey gray
  | silver | gold | turquoise | beige | navy | maroon | amber
material: wood wooden oak pine | metal steel | plastic | glass | leather | cotton | wool | silk | linen
  | marble | granite | concrete | brick | paper | ceramic | stone | suede | laminate | tile | rubber
metal: gold | silver | copper | iron | aluminium aluminum | steel | zinc | lead | platinum | titanium |
  bronze | brass | tin | nickel
element: oxygen | hydrogen | nitrogen | carbon | helium | sodium | potassium | calcium | chlorine |
  sulphur sulfur | neon | argon | uranium
planet: mercury | venus | earth | mars | jupiter | saturn | uranus | neptune | pluto | moon | sun
job_side: labour labor | parts
order_kind: delivery | dine_in eat_in | takeaway
menu: kids children | set | lunch | dinner | breakfast | drinks | dessert | wine
ticket: adult | child | student | senior | family | group
season_ticket: day_pass | weekly_pass | monthly_pass | annual_pass
network: wifi | ethernet | bluetooth | cellular
"""

FOOD_AND_BODY = """
meal: breakfast | lunch | dinner supper | brunch | dessert pudding | snack | starter appetizer
meat: beef | chicken | pork | lamb | turkey | duck | ham | bacon | veal | fish | salmon | tuna | cod |
  prawn shrimp | tofu
fruit: apple | banana | pear | grape | strawberry | raspberry | blueberry | mango | pineapple | lemon |
  lime | peach | plum | cherry | kiwi | melon | avocado
vegetable: potato | carrot | onion | tomato | broccoli | cabbage | spinach | lettuce | cucumber |
  pepper | garlic | mushroom | cauliflower | pea | bean | sweetcorn corn | celery
carb: rice | pasta | bread | noodle | couscous | quinoa | oats
allergen: nut nuts | peanut | gluten | dairy lactose milk | egg | soy soya | shellfish | sesame | wheat
  | fish
drink: tea | coffee | water | juice | beer | wine | milk | cola | whisky whiskey | vodka | gin | rum |
  champagne | smoothie | lemonade
nutrient: protein | carb carbohydrate | fat | fibre fiber | sugar | salt sodium | calorie | iron |
  calcium | magnesium | zinc
cooking: boil | fry | bake | roast | grill | steam | poach | microwave
egg: poached | scrambled | fried | boiled
cuisine: italian | chinese | indian | thai | mexican | japanese sushi | french | greek | spanish |
  turkish | korean | vietnamese | lebanese
organ: heart | liver | kidney | lung | brain | stomach | skin | bladder | pancreas | thyroid | bowel
body: arm | leg | hand | foot | knee | elbow | shoulder | ankle | wrist | neck | back | hip | eye | ear
  | nose | mouth | tooth | finger | toe | head | chest | throat | hair
illness: flu influenza | cold | covid coronavirus | asthma | diabetes | cancer | measles | mumps |
  chickenpox | pneumonia | bronchitis | malaria | shingles | eczema | psoriasis | migraine | arthritis |
  depression | anxiety | anaemia anemia | hypertension | tonsillitis | food_poisoning | hay_fever |
  fever | cough | headache | norovirus
medicine: ibuprofen | paracetamol acetaminophen | aspirin | codeine | antibiotic amoxicillin penicillin
  | antihistamine | insulin | metformin | warfarin | statin | sertraline | fluoxetine | naproxen |
  omeprazole | steroid | antidepressant
treatment: surgery | chemotherapy | radiotherapy | physiotherapy | medication | vaccine vaccination jab
test: blood_test | urine_test | x-ray xray | mri | ct_scan | ultrasound | biopsy
sport: football soccer | rugby | cricket | tennis | golf | basketball | baseball | hockey | swimming |
  cycling | running | boxing | volleyball | badminton | skiing | rowing | athletics | snooker
instrument: piano | guitar | violin | drum | flute | saxophone | trumpet | cello | clarinet | ukulele |
  harp
subject: math maths mathematics | physics | chemistry | biology | history | geography | art | music |
  economics | law | philosophy | psychology | computer_science | english_literature | medicine
"""

COMPUTING = """
os: windows | mac macos osx | linux ubuntu debian fedora | android | ios | chromeos
  chromebook
browser: chrome | firefox | safari | edge | opera | brave
programming: python | java | javascript js | typescript | c++ cpp | c# csharp | golang | rust | ruby |
  php | swift | kotlin | scala | perl | haskell | bash | powershell | matlab | fortran | lua
framework: react | angular | vue | svelte | django | flask | fastapi | rails | spring | laravel | express
machine_learning: pytorch | tensorflow | keras | jax
dataframe: pandas | numpy | polars | spark
database: postgres postgresql | mysql | sqlite | mongodb mongo | redis | oracle | mariadb | cassandra |
  dynamodb | elasticsearch
cloud: aws amazon_web_services | azure | gcp google_cloud | heroku | digitalocean
container: docker | podman | kubernetes k8s
host: github | gitlab | bitbucket
git: merge | rebase | cherry-pick | stash | reset | revert | push | pull | fetch | clone
http: get_request | post_request | put_request | delete_request | patch_request
api_style: rest | graphql | grpc | soap
data_structure: list array | tuple | set | dict dictionary hashmap | stack | queue | tree | graph |
  heap | string
sql: insert | update | delete_statement | select
join: inner_join | outer_join | left_join | right_join | cross_join
test_kind: unit_test | integration_test | end-to-end_test e2e
memory: ram | cpu | gpu | ssd | hard_drive hdd
loop: for_loop | while_loop
social: facebook | instagram | twitter | tiktok | linkedin | snapchat | youtube | reddit | pinterest |
  whatsapp | telegram | signal | discord
mail: gmail | outlook | yahoo | hotmail | icloud | protonmail
meeting: zoom | teams | slack | webex | google_meet
tracker: jira | trello | asana | notion | monday.com | linear
crm: salesforce | hubspot | zoho | pipedrive
accounting: xero | quickbooks | sage | freshbooks
store_sites: amazon | ebay | etsy | walmart | tesco | sainsbury | asda | aldi | lidl | ikea | argos |
  asos | costco
tech: google | apple | microsoft | samsung | sony | nokia | huawei | xiaomi | dell | lenovo | hp
car: ford | toyota | bmw | audi | volkswagen vw | honda | tesla | nissan | mercedes | volvo | kia |
  hyundai | fiat | renault | peugeot
airline: ryanair | easyjet | british_airways | lufthansa | emirates | delta | klm | jet2 | wizz | qantas
streaming: netflix | disney | spotify | hulu | prime_video | hbo
courier: dhl | ups | fedex | royal_mail | hermes evri | dpd
ride: uber | lyft | bolt
food_app: deliveroo | ubereats uber_eats | doordash | just_eat
llm: chatgpt gpt | claude | gemini | llama | mistral | copilot
"""

PLACES = """
country: england english | scotland scottish | wales welsh | northern_ireland | ireland irish | france
  french | germany german | spain spanish | italy italian | portugal portuguese | greece greek |
  netherlands dutch holland | belgium belgian | switzerland swiss | austria austrian | poland polish |
  sweden swedish | norway norwegian | denmark danish | finland finnish | iceland | russia russian |
  ukraine ukrainian | turkey turkish | czech czechia | hungary hungarian | romania romanian | bulgaria
  bulgarian | croatia croatian | serbia serbian | egypt egyptian | morocco moroccan | nigeria nigerian |
  kenya kenyan | ethiopia | south_africa | ghana | israel israeli | iran iranian | iraq iraqi |
  saudi_arabia | india indian | pakistan pakistani | bangladesh | china chinese mandarin | japan japanese
  | south_korea korean korea | thailand thai | vietnam vietnamese | indonesia indonesian | malaysia
  malaysian | singapore | philippines filipino | australia australian | new_zealand | canada canadian |
  mexico mexican | brazil brazilian | argentina argentinian | chile chilean | peru peruvian | colombia
  colombian | cuba cuban | usa america american united_states | uk united_kingdom britain british
  great_britain gb
city: london | manchester | birmingham | leeds | liverpool | bristol | sheffield | newcastle |
  edinburgh | glasgow | cardiff | belfast | dublin | paris | lyon | marseille | berlin | munich | hamburg
  | frankfurt | madrid | barcelona | rome | milan | venice | florence | lisbon | amsterdam | brussels |
  vienna | zurich | geneva | prague | budapest | warsaw | athens | istanbul | moscow | stockholm | oslo |
  copenhagen | helsinki | cairo | nairobi | lagos | dubai | doha | delhi | mumbai | bangalore | beijing |
  shanghai | tokyo | osaka | kyoto | seoul | bangkok | hanoi | jakarta | sydney | melbourne | brisbane |
  perth | auckland | toronto | vancouver | montreal | new_york nyc | los_angeles | san_francisco |
  chicago | boston | seattle | miami | houston | dallas | austin | denver | atlanta | las_vegas |
  washington | heathrow | gatwick | stansted | luton_airport
state: california | texas | florida | nevada | ohio | illinois | pennsylvania | georgia | michigan |
  virginia | arizona | colorado | oregon | massachusetts
continent: europe european | asia asian | africa african | north_america | south_america | antarctica |
  oceania
language: english | french | german | spanish | italian | portuguese | dutch | polish | swedish |
  russian | ukrainian | turkish | arabic | hebrew | hindi | urdu | bengali | chinese mandarin cantonese |
  japanese | korean | thai | vietnamese | latin | greek | welsh | persian farsi | swahili
religion: christian christianity | muslim islam | jewish judaism | hindu hinduism | buddhist buddhism |
  sikh
holiday: christmas | easter | halloween | thanksgiving | new_year | diwali | ramadan | eid | hanukkah |
  valentine
"""

UNITS = """
currency: dollar usd buck | euro eur | gbp sterling quid | yen jpy | rupee inr | yuan cny rmb | franc
  chf | cad canadian_dollar | aud australian_dollar | peso | won krw | rouble ruble | zloty pln | krona
  sek | bitcoin btc | ether ethereum eth
length: mile | metre meter | foot feet | kilometre kilometer km | centimetre centimeter cm | millimetre
  millimeter mm | inch | yard | light_year
temperature: celsius centigrade | fahrenheit | kelvin
data: kilobyte kb | megabyte mb | gigabyte gb | terabyte tb
mass: kilogram kilo kg | gram | ounce oz | tonne | milligram mg | lb lbs
cooking_unit: gram | teaspoon tsp | tablespoon tbsp | cup | ounce | millilitre milliliter ml
volume_unit: litre liter | millilitre milliliter ml | gallon | pint | teaspoon tsp | tablespoon tbsp
angle: degree | radian
rate: kph kmh | mph
energy_unit: joule | calorie | kwh kilowatt | watt
"""

KINDS = (PEOPLE, MONEY_AND_PLANS, THINGS, FOOD_AND_BODY, COMPUTING, PLACES)
"""All but units."""
